package checker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/sim"
)

// A Must is a dangerous state that a run has to reach, without which it proves nothing. Its printed form is the rest of
// the `must` line of a scenario; [ParseMust] is the inverse of String. Two Musts are equal if they print the same.
type Must struct {
	form   string // one of those below
	client string
	rival  string // the other client
	nodes  string // separated by spaces
	write  string // what was written
	next   string // what the other write wrote
	limit  time.Duration
}

// The forms of a must. A word in capitals is a place for a name: c1, n1 (several for NODES), what a write wrote, a duration.
const (
	clientAcquires     = "CLIENT acquires"
	clientRefused      = "CLIENT is refused"
	pausesAfterCheck   = "CLIENT pauses after a passed check"
	resumesAfterLease  = "CLIENT resumes after its lease ended"
	resumesAfterKeys   = "CLIENT resumes after its keys ended"
	holdsExactly       = "CLIENT holds exactly NODES"
	dropsEarly         = "NODE drops the key of CLIENT early"
	keepsLate          = "NODE keeps the key of CLIENT late"
	restartsAfter      = "NODE restarts after the lease of CLIENT ended"
	restartsBefore     = "NODE restarts before the lease of CLIENT ended"
	writeAfterLease    = "write WRITE arrives after its lease ended"
	writeBeforeWrite   = "write WRITE arrives before write NEXT"
	acquiresWithDown   = "CLIENT acquires with NODES down"
	triesWithDown      = "CLIENT tries with NODES down"
	reachesOnly        = "CLIENT reaches only NODES"
	crashesHolding     = "CLIENT crashes while it holds"
	waitsFor           = "CLIENT waits for RIVAL"
	someWaits          = "some client waits for another"
	firstAt            = "CLIENT is first at NODES"
	requestTakesLonger = "a request from CLIENT to SERVER takes over LIMIT"
	replyTakesLonger   = "a reply from SERVER to CLIENT takes over LIMIT"
)

// forms returns all forms, in the order in which errors list them.
func forms() []string {
	return []string{
		clientAcquires, clientRefused, pausesAfterCheck, resumesAfterLease, resumesAfterKeys, holdsExactly, dropsEarly, keepsLate,
		restartsAfter, restartsBefore, writeAfterLease, writeBeforeWrite, acquiresWithDown, triesWithDown,
		reachesOnly, crashesHolding, waitsFor, someWaits, firstAt,
		requestTakesLonger, replyTakesLonger,
	}
}

// ParseMust parses what [Must.String] prints. Its errors name the nearest form and list all of them.
func ParseMust(s string) (Must, error) {
	words := strings.Fields(s)
	for _, form := range forms() {
		m := Must{form: form}
		if m.match(strings.Fields(form), words) {
			return m, nil
		}
	}
	msg := fmt.Sprintf("unknown must %q; the musts are %s", s, strings.Join(forms(), ", "))
	if near := sim.Nearest(anonymous(words), forms()); near != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return Must{}, errors.New(msg)
}

// anonymous puts places where words have names, so that a must can be compared with the forms.
func anonymous(words []string) string {
	words = slices.Clone(words)
	for i, w := range words {
		switch {
		case clientName.MatchString(w):
			words[i] = "CLIENT"
		case nodeName.MatchString(w):
			words[i] = "NODE"
		}
	}
	return strings.Join(words, " ")
}

// String prints the must as it stands in a scenario.
func (m Must) String() string {
	words := strings.Fields(m.form)
	for i, w := range words {
		if value, ok := m.field(w); ok {
			words[i] = value
		}
	}
	return strings.Join(words, " ")
}

// field returns what a word of a form stands for in m, if the word is a place for a name.
func (m Must) field(word string) (string, bool) {
	switch word {
	case "CLIENT":
		return m.client, true
	case "RIVAL":
		return m.rival, true
	case "NODE", "NODES", "SERVER":
		return m.nodes, true
	case "WRITE":
		return m.write, true
	case "NEXT":
		return m.next, true
	case "LIMIT":
		return sim.FormatDuration(m.limit), true
	}
	return "", false
}

var (
	clientName = regexp.MustCompile(`^(c[1-9][0-9]*|probe)$`)
	nodeName   = regexp.MustCompile(`^n[1-9][0-9]*$`)
)

// match fills m with the names that words have in the places of form, and says whether the two fit.
func (m *Must) match(form, words []string) bool {
	for ; len(form) > 0 && len(words) > 0; form, words = form[1:], words[1:] {
		word, ok := words[0], false
		switch form[0] {
		case "CLIENT":
			m.client, ok = word, clientName.MatchString(word)
		case "RIVAL":
			m.rival, ok = word, clientName.MatchString(word)
		case "NODE":
			m.nodes, ok = word, nodeName.MatchString(word)
		case "SERVER":
			m.nodes, ok = word, word == "resource" || nodeName.MatchString(word)
		case "NODES":
			ok = nodeName.MatchString(word)
			for len(words) > 1 && nodeName.MatchString(words[1]) {
				words = words[1:]
				word += " " + words[0]
			}
			m.nodes = word
		case "WRITE":
			m.write, ok = word, true
		case "NEXT":
			m.next, ok = word, true
		case "LIMIT":
			d, err := sim.ParsePositive(word)
			m.limit, ok = d, err == nil
		default:
			ok = word == form[0]
		}
		if !ok {
			return false
		}
	}
	return len(form) == 0 && len(words) == 0
}
