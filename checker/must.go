package checker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// A Must is a dangerous state that a run has to reach, without which it proves nothing. Its printed form is the rest of
// the `must` line of a scenario; [ParseMust] is the inverse of String. Two Musts are equal if they print the same.
type Must struct {
	form   string // one of those below
	client string
	rival  string // the other client
	nodes  string // separated by spaces; also a server, or any process
	write  string // what was written
	next   string // what the other write wrote
	count  int
	limit  time.Duration
}

// The forms of a must. A word in capitals is a place for a name: c1, n1 (several for NODES), what a write wrote, a number of
// two or more, a duration.
const (
	clientAcquires    = "CLIENT acquires"
	clientRefused     = "CLIENT is refused"
	acquiresOn        = "CLIENT acquires on NODE"
	acquiresWithDown  = "CLIENT acquires with NODES down"
	acquiresLate      = "CLIENT acquires with under LIMIT left"
	triesWithDown     = "CLIENT tries with NODES down"
	triesWithPaused   = "CLIENT tries with NODES paused"
	reachesOnly       = "CLIENT reaches only NODES"
	holdsExactly      = "CLIENT holds exactly NODES"
	firstAt           = "CLIENT is first at NODES"
	waitsFor          = "CLIENT waits for RIVAL"
	someWaits         = "some client waits for another"
	severalWait       = "COUNT clients wait at once"
	acquireAtOnce     = "CLIENT and RIVAL acquire at once"
	incrementAtOnce   = "CLIENT and RIVAL increment at once"
	drawSameToken     = "CLIENT and RIVAL draw the same token"
	acquiresInRelease = "CLIENT acquires while RIVAL releases"
	jumpsInAcquire    = "CLIENT acquires while its wall clock jumps"
	seesNoTTL         = "CLIENT sees no TTL"
	crashesHolding    = "CLIENT crashes while it holds"
	crashesAcquiring  = "CLIENT crashes while it acquires"
	cutOffHolding     = "CLIENT is cut off while it holds"
	pausesAfterCheck  = "CLIENT pauses after a passed check"
	resumesAfterLease = "CLIENT resumes after its lease ended"
	resumesAfterKeys  = "CLIENT resumes after its keys ended"
	resumesAfterRival = "CLIENT resumes after RIVAL acquired"
	releasesAfter     = "CLIENT releases after its lease ended"
	extendsBefore     = "CLIENT extends before its lease ended"
	extendsAfter      = "CLIENT extends after its lease ended"
	extendsWithDown   = "CLIENT extends with NODES down"
	clientRenews      = "CLIENT renews"
	writesOvertaken   = "CLIENT writes what it read before RIVAL wrote"
	entersAfter       = "CLIENT enters after RIVAL"
	writeAfterLease   = "write WRITE arrives after its lease ended"
	writeBeforeWrite  = "write WRITE arrives before write NEXT"

	dropsEarly           = "NODE drops the key of CLIENT early"
	keepsLate            = "NODE keeps the key of CLIENT late"
	restartsBefore       = "NODE restarts before the lease of CLIENT ended"
	restartsAfter        = "NODE restarts after the lease of CLIENT ended"
	restartsAfterByWall  = "NODE restarts after the lease of CLIENT ended by its wall clock"
	restartsWith         = "NODE restarts with the key of CLIENT"
	restartsWithout      = "NODE restarts without the key of CLIENT"
	promotedWith         = "NODE is promoted with the key of CLIENT"
	promotedWithout      = "NODE is promoted without the key of CLIENT"
	neverHas             = "NODE never has the key of CLIENT"
	promotedWithoutFence = "NODE is promoted without the last fence"
	keepsSilent          = "NODE does not answer while CLIENT tries"

	requestTakesLonger = "a request from CLIENT to SERVER takes over LIMIT"
	replyTakesLonger   = "a reply from SERVER to CLIENT takes over LIMIT"
	requestLost        = "a request from CLIENT to SERVER is lost"
	replyLost          = "a reply from SERVER to CLIENT is lost"
	wallOff            = "the wall clock of PROCESS is off by over LIMIT"
	steadyOff          = "the steady clock of PROCESS is off by over LIMIT"
)

// forms returns all forms, in the order in which errors list them.
func forms() []string {
	return []string{
		clientAcquires, clientRefused, acquiresOn, acquiresWithDown, acquiresLate, triesWithDown, triesWithPaused, reachesOnly, holdsExactly, firstAt,
		waitsFor, someWaits, severalWait, acquireAtOnce, incrementAtOnce, drawSameToken, acquiresInRelease, jumpsInAcquire, seesNoTTL,
		crashesHolding, crashesAcquiring, cutOffHolding,
		pausesAfterCheck, resumesAfterLease, resumesAfterKeys, resumesAfterRival,
		releasesAfter, extendsBefore, extendsAfter, extendsWithDown, clientRenews,
		writesOvertaken, entersAfter, writeAfterLease, writeBeforeWrite,
		dropsEarly, keepsLate, restartsBefore, restartsAfter, restartsAfterByWall, restartsWith, restartsWithout,
		promotedWith, promotedWithout, neverHas, promotedWithoutFence, keepsSilent,
		requestTakesLonger, replyTakesLonger, requestLost, replyLost, wallOff, steadyOff,
	}
}

// Scaled returns the must with the duration that it may have changed by f, for a run in which everything takes less time.
func (m Must) Scaled(f func(time.Duration) time.Duration) Must {
	if m.limit != 0 {
		m.limit = f(m.limit)
	}
	return m
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
	if near := history.Nearest(anonymous(words), forms()); near != "" {
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
		case serverName.MatchString(w):
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
	case "NODE", "NODES", "SERVER", "PROCESS":
		return m.nodes, true
	case "COUNT":
		return strconv.Itoa(m.count), true
	case "WRITE":
		return m.write, true
	case "NEXT":
		return m.next, true
	case "LIMIT":
		return history.FormatDuration(m.limit), true
	}
	return "", false
}

var (
	clientName = regexp.MustCompile(`^(c[1-9][0-9]*|probe)$`)
	serverName = regexp.MustCompile(`^[nrsp][1-9][0-9]*$`) // lock nodes, replicas, sentinels, and the other shards of a cluster
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
			m.nodes, ok = word, serverName.MatchString(word)
		case "SERVER":
			m.nodes, ok = word, word == "resource" || serverName.MatchString(word)
		case "PROCESS":
			m.nodes, ok = word, word == "resource" || serverName.MatchString(word) || clientName.MatchString(word)
		case "COUNT":
			n, err := strconv.Atoi(word)
			m.count, ok = n, err == nil && n >= 2 && strconv.Itoa(n) == word
		case "NODES":
			ok = serverName.MatchString(word)
			for len(words) > 1 && serverName.MatchString(words[1]) {
				words = words[1:]
				word += " " + words[0]
			}
			m.nodes = word
		case "WRITE":
			m.write, ok = word, true
		case "NEXT":
			m.next, ok = word, true
		case "LIMIT":
			d, err := history.ParsePositive(word)
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
