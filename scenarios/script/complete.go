package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// A Completion is what can come next in a line: one word, or several that always follow each other.
type Completion struct {
	Text string `json:"text"`
	Form string `json:"form"` // of the line, such as "pause PROCESS [DURATION]"
}

// mostCompletions limits how many [Complete] returns.
const mostCompletions = 80

// Complete returns what can come next in a line of a scenario file. Before is the line up to that place; its last word may be incomplete,
// and is then the beginning of each completion. The rest of the file, which need not be correct, determines the lane, and the names of the
// processes.
func Complete(file string, line int, before string) []Completion {
	lines := strings.Split(file, "\n")
	c := completer{namesIn(lines), nil, map[string]bool{}}
	words := strings.Split(before, " ")
	partial := words[len(words)-1]
	words = slices.DeleteFunc(words[:len(words)-1], func(w string) bool { return w == "" })
	switch lane := laneAt(lines, min(line, len(lines))); {
	case strings.HasPrefix(before, "--"):
		c.sectionLine(words, partial)
	case !strings.HasPrefix(before, " "):
		c.lines(partForms(), words, partial)
	case lane == Nemesis:
		c.lines(nemesisForms(words), words, partial)
	case lane != "":
		c.lines(slices.Sorted(maps.Values(stepForms)), words, partial)
	}
	slices.SortStableFunc(c.found, func(a, b Completion) int { return cmp.Compare(rank(a.Text), rank(b.Text)) })
	return c.found[:min(len(c.found), mostCompletions)]
}

// rank puts words before signs, such as #2 and +1s.
func rank(text string) int {
	if text[0] == '#' || text[0] == '+' || text[0] == '-' {
		return 1
	}
	return 0
}

// laneAt returns the process in whose lane a line is, from 1; "" if in none.
func laneAt(lines []string, line int) string {
	for i := line - 2; i >= 0; i-- {
		words := strings.Fields(lines[i])
		switch {
		case len(words) > 0 && lines[i][0] == ' ':
		case len(words) == 1 && words[0] == Nemesis:
			return Nemesis
		case len(words) == 2 && words[0] == "client":
			return words[1]
		default:
			return ""
		}
	}
	return ""
}

// partForms are the forms of lines that are not indented.
func partForms() []string {
	all := []string{"client NAME", Nemesis, "ttl DURATION", "speed NUMBER", "sweep KIND", "report QUANTITY", "sim only: WHY", "-- LOCK nodes=1 --"}
	for _, m := range checker.MustForms() {
		all = append(all, "must "+m.Words)
	}
	for _, p := range checker.Properties() {
		all = append(all, fmt.Sprintf("expect %s ok|unknown|violated|violated:", p))
		for _, a := range checker.Assumptions() {
			all = append(all, fmt.Sprintf("expect %s violated: %s", p, a))
		}
	}
	return all
}

// nemesisForms are the forms that a step of the nemesis can have, if it begins with these words.
func nemesisForms(words []string) (all []string) {
	faults := history.FaultForms()
	switch {
	case len(words) == 0:
		return append(faults, "at DURATION FAULT", "when PROCESS EVENT FAULT")
	case words[0] == "at":
		for _, f := range faults {
			all = append(all, "at DURATION "+f)
		}
		return all
	case words[0] != "when":
		return faults
	}
	for _, w := range whats {
		process := "CLIENT"
		if w.Server() {
			process = "NODE"
		}
		event := strings.TrimSpace("when " + process + " " + string(w) + " " + w.Form())
		if len(words) < 3 {
			all = append(all, event)
		} else if words[2] == string(w) {
			for _, f := range faults {
				all = append(all, event+" [#NUMBER] [+DURATION] "+f)
			}
		}
	}
	return all
}

// A completer collects completions.
type completer struct {
	names fileNames
	found []Completion
	seen  map[string]bool
}

func (c *completer) add(form, partial string, texts ...string) {
	for _, text := range texts {
		if strings.HasPrefix(text, partial) && text != partial && !c.seen[text] {
			c.seen[text] = true
			c.found = append(c.found, Completion{text, form})
		}
	}
}

// lines adds what can come after words in a line that has one of some forms.
func (c *completer) lines(forms []string, words []string, partial string) {
	for _, form := range forms {
		for _, seq := range expand(form) {
			c.after(form, seq, words, partial)
		}
	}
}

// after adds what can come after words in a sequence.
func (c *completer) after(form string, seq, words []string, partial string) {
	for i, w := range words {
		switch {
		case i >= len(seq):
			return
		case seq[i] == "STEP":
			c.lines(slices.Sorted(maps.Values(stepForms)), words[i:], partial)
			return
		case isPlaceholder(seq[i]):
			if !c.fits(seq[i], w) {
				return
			}
		case seq[i] != w:
			return
		}
	}
	if len(words) >= len(seq) {
		return
	}
	rest := seq[len(words):]
	if rest[0] == "STEP" {
		c.lines(slices.Sorted(maps.Values(stepForms)), nil, partial)
		return
	}
	if isPlaceholder(rest[0]) {
		c.add(form, partial, c.values(rest[0], partial)...)
		return
	}
	n := 1
	for n < len(rest) && !isPlaceholder(rest[n]) {
		n++
	}
	if strings.HasPrefix(form, "--") || n > 1 && len(words) == 0 {
		n = 1 // the first word of a line chooses among many forms
	}
	c.add(form, partial, strings.Join(rest[:n], " "))
}

// fits reports whether a word can be what a placeholder stands for, as far as its first characters tell.
func (c *completer) fits(placeholder, word string) bool {
	switch placeholder[0] {
	case '#', '+', '-':
		return word[0] == placeholder[0]
	}
	switch placeholder {
	case "DURATION", "LIMIT":
		return word[0] >= '0' && word[0] <= '9'
	case "CLIENT", "RIVAL":
		return !slices.Contains(c.names.servers, word)
	case "NODE":
		return !slices.Contains(c.names.clients, word)
	}
	return word[0] != '#' && word[0] != '+'
}

// values are examples of what a placeholder stands for.
func (c *completer) values(placeholder, partial string) []string {
	switch sign := placeholder[:1]; placeholder {
	case "DURATION", "LIMIT":
		return durations("", partial)
	case "+DURATION", "-DURATION":
		return durations(sign, partial)
	case "+NUMBERppm", "-NUMBERppm":
		return []string{sign + "500ppm", sign + "5000ppm", sign + "100000ppm"}
	case "#NUMBER":
		return []string{"#2", "#3"}
	case "NUMBER", "COUNT":
		return []string{"2", "3", "10"}
	}
	n := c.names
	switch placeholder {
	case "PROCESS":
		return slices.Concat(n.clients, n.servers)
	case "CLIENT", "RIVAL":
		return n.clients
	case "NODE", "NODES", "SERVER", "PRIMARY":
		return n.servers
	case "LINK":
		return n.links(partial)
	case "FROM->TO":
		return slices.DeleteFunc(n.links(partial), func(l string) bool { return !strings.Contains(l, "->") })
	case "COMMAND", "OPERATION":
		return []string{"SET", "EVALSHA", "GET", "DEL", history.Acquire, history.Extend, history.Release, history.Write}
	case "VALUE", "WORD", "WRITE", "NEXT":
		return n.values
	case "NAME":
		return []string{fmt.Sprintf("c%d", len(n.clients)+1)}
	case "LOCK":
		return lockNames()
	case "KIND":
		return WordsOf(Kinds())
	case "QUANTITY":
		var all []string
		for _, q := range checker.Quantities() {
			all = append(all, string(q))
		}
		return all
	}
	return nil
}

func lockNames() []string {
	var all []string
	for _, l := range clients.Locks() {
		all = append(all, l.Name)
	}
	return all
}

// durations are examples, or what has been typed with a unit.
func durations(sign, partial string) []string {
	digits := strings.TrimPrefix(partial, sign)
	if _, err := strconv.ParseUint(digits, 10, 32); err == nil && digits != "" {
		return []string{sign + digits + "s", sign + digits + "ms"}
	}
	var all []string
	for _, d := range []string{"1s", "5s", "15s", "500ms"} {
		all = append(all, sign+d)
	}
	return all
}

// sectionLine completes a section line, such as -- redlock nodes=5 --.
func (c *completer) sectionLine(words []string, partial string) {
	const form = "-- LOCK nodes=NUMBER [SETTING=VALUE] --"
	if len(words) == 0 {
		c.add(form, partial, "-- ")
		return
	}
	if len(words) == 1 {
		c.add(form, partial, lockNames()...)
		return
	}
	if key, _, ok := strings.Cut(partial, "="); ok {
		for _, v := range settingValues(key) {
			c.add(form, partial, key+"="+v)
		}
		return
	}
	for _, key := range settings {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, key+"=") }) {
			c.add(form, partial, key+"=")
		}
	}
	c.add(form, partial, "--")
}

func settingValues(key string) []string {
	switch key {
	case "nodes", "replicas", "sentinels", "shards", "min-replicas":
		return []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	case "persistence":
		return WordsOf(engine.Persistences)
	case "resource":
		return clients.Resources()
	case "pool":
		return []string{Warm}
	case "guests":
		return []string{yes}
	case "ttl", "down-after":
		return durations("", "")
	}
	return nil
}

// fileNames are the names in a file, as far as they can be told.
type fileNames struct {
	clients, servers, values []string
}

func namesIn(lines []string) (n fileNames) {
	var most Section
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch {
		case words[0] == "client" && !slices.Contains(n.clients, words[1]):
			n.clients = append(n.clients, words[1])
		case (words[0] == "write" || words[0] == "update") && !slices.Contains(n.values, words[1]):
			n.values = append(n.values, words[1])
		case words[0] == "--":
			for _, w := range words[1:] {
				key, value, _ := strings.Cut(w, "=")
				var r Section
				if r.set(key, value) == nil {
					most.Nodes, most.Replicas = max(most.Nodes, r.Nodes), max(most.Replicas, r.Replicas)
					most.Sentinels, most.Shards = max(most.Sentinels, r.Sentinels), max(most.Shards, r.Shards)
				}
			}
		}
	}
	most.Nodes = max(most.Nodes, 1)
	n.servers = slices.Concat(most.NodeNames(), most.ReplicaNames(), most.SentinelNames(), most.ShardNames())
	if len(n.values) == 0 {
		n.values = []string{"A"}
	}
	return n
}

// links are the links between a client and a server. One direction of a link is offered once its first name is typed.
func (n fileNames) links(partial string) (all []string) {
	servers := append(slices.Clone(n.servers), ResourceName)
	for _, c := range n.clients {
		for _, s := range servers {
			all = append(all, c+"-"+s)
		}
	}
	for _, c := range n.clients {
		for _, s := range servers {
			if partial != "" || len(servers)*len(n.clients) < 9 {
				all = append(all, c+"->"+s, s+"->"+c)
			}
		}
	}
	return all
}
