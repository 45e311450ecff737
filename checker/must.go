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

// A Must is a dangerous state that a run has to reach; otherwise it proves nothing. Its printed form is the rest of the `must`
// line of a scenario; [ParseMust] is the inverse of String. Two Musts are equal if they print the same.
type Must struct {
	form   string // the words of one of mustForms
	client string
	rival  string // the other client
	nodes  string // separated by spaces; may also be a server, or any process
	write  string // the value of the write
	next   string // the value of the other write
	count  int
	limit  time.Duration
}

// Scaled returns the must with its duration, if it has one, changed by f, for a run in which everything takes less time.
func (m Must) Scaled(f func(time.Duration) time.Duration) Must {
	if m.limit != 0 {
		m.limit = f(m.limit)
	}
	return m
}

// ParseMust parses the printed form. Its errors name the nearest form and list all of them.
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

// anonymous replaces names by placeholders, so that a must can be compared with the forms.
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

// String prints the must as in a scenario.
func (m Must) String() string {
	words := strings.Fields(m.form)
	for i, w := range words {
		if value, ok := m.field(w); ok {
			words[i] = value
		}
	}
	return strings.Join(words, " ")
}

// field returns the value of a placeholder in m, if the word is one.
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

// match fills m with the words in the place of placeholders, and reports whether the words match the form.
func (m *Must) match(form, words []string) bool {
	for ; len(form) > 0 && len(words) > 0; form, words = form[1:], words[1:] {
		word := words[0]
		var ok bool
		switch form[0] {
		case "CLIENT":
			m.client, ok = word, clientName.MatchString(word)
		case "RIVAL":
			m.rival, ok = word, clientName.MatchString(word)
		case "NODE":
			m.nodes, ok = word, serverName.MatchString(word)
		case "SERVER":
			m.nodes, ok = word, word == history.ResourceName || serverName.MatchString(word)
		case "PROCESS":
			m.nodes, ok = word, word == history.ResourceName || serverName.MatchString(word) || clientName.MatchString(word)
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
