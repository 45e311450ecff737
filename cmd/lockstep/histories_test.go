package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep/checker"
)

// exampleHistory is the history in docs/histories.md.
func exampleHistory(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/histories.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)<!-- tested: stale.jsonl -->\n```\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/histories.md has no example")
	}
	return string(m[1])
}

// judged returns the line that check --json prints for a history, and its standard error.
func judged(t *testing.T, history string) (l line, errors string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stale.jsonl")
	write(t, file, history)
	c := exec.Command(os.Args[0], "check", "--json", file)
	c.Env = append(os.Environ(), asProgram+"=1")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, _ := c.Output() // the verdict decides the exit status
	if len(out) > 0 {
		if err := json.Unmarshal(out, &l); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return l, strings.ReplaceAll(stderr.String(), filepath.Dir(file)+string(filepath.Separator), "")
}

// The example of docs/histories.md is judged as the page says.
func TestHistoriesPage(t *testing.T) {
	l, errors := judged(t, exampleHistory(t))
	if l.Verdict != "UNSAFE" || len(l.Violations) != 1 || l.Violations[0].Property != "resource exclusion" || l.Violations[0].Assumption != "bounded pause" {
		t.Errorf("%+v %s", l, errors)
	}
	for property, want := range map[checker.Property]checker.Status{
		"lease exclusion": "ok", "expired on return": "ok", "tokens": "ok", "owner only": "ok", "fault tolerance": "ok",
		"no lost update": "unknown", "deadlock freedom": "unknown",
	} {
		if got := l.Properties[property]; got != want {
			t.Errorf("%s is %s, want %s", property, got, want)
		}
	}
}

// Errors about unknown words name the line, and the words that are known.
func TestForeignHistoryWithUnknownWords(t *testing.T) {
	example := exampleHistory(t)
	for _, c := range []struct{ old, new, want string }{
		{`"op":"accept"`, `"op":"accepted"`, `stale.jsonl:11: kind state: unknown op "accepted"; the ops are set, over, retime, delete, expire, lose, accept, `},
		{`"kind":"ok","op":"acquire","id":1,"lock":"stock","lease":"c2#1"`, `"kind":"okay","op":"acquire","id":1,"lock":"stock","lease":"c2#1"`, `stale.jsonl:9: unknown kind "okay"; the kinds are invoke, ok, `},
		{`"process":"c2","kind":"ok"`, `"process":"c3","kind":"ok"`, `stale.jsonl:9: unknown process "c3"; the processes are c1, c2`},
		{`"process":"resource"`, `"process":"disk"`, `stale.jsonl:11: unknown process "disk"; the only process is resource`},
		{`"id":1,"lock":"stock","lease":"c2#1"`, `"id":1,"lock":"stocks","lease":"c2#1"`, `stale.jsonl:9: the lock must be "stock", as in the events before, not "stocks"; if there are several, the first line must list them as "names"`},
		{`"op":"accept","lease":"c1#1"`, `"op":"accept","lease":"c1#2"`, `stale.jsonl:11: unknown lease "c1#2"; the leases are c1#1, c2#1`},
		{`"op":"set","key":"stock","lease":"c2#1"`, `"op":"set","key":"stock","lease":"c4#1"`, `stale.jsonl:8: the lease "c4#1" must be named after its client, such as c1#1`},
		{`"lease":"c2#1","until"`, `"lease":"c1#9","until"`, `stale.jsonl:9: c2 cannot acquire the lease c1#9; its leases must be called c2#1, and so on`},
		{`"sent":`, `"left":`, `stale.jsonl:11: unknown field "left"; docs/histories.md`},
		{`"ttl":`, `"TLL":`, `stale.jsonl:1: unknown field "TLL"; docs/histories.md`},
		{`"op":"pause"`, `"op":"halt"`, `stale.jsonl:5: kind fault: unknown op "halt"; `},
		{`"pause c1 15s"`, `"pause c2 3s"`, `stale.jsonl:5: the process of the fault "pause c2 3s" must be "c2", not "c1"`},
		{`"op":"pause"`, `"op":"crash"`, `stale.jsonl:5: the op of the fault "pause c1 15s" must be pause, not crash`},
		{`"pause c1 15s"`, `"halt c1 15s"`, `stale.jsonl:5: "value": unknown fault "halt"; the faults are `},
		{`"clock":11000000000,`, ``, `stale.jsonl:7: invoke acquire of c2 must have a "clock"`},
		{`"lease":"c1#1","until":10000000000}`, `"lease":"c1#1"}`, `stale.jsonl:4: ok acquire of c1 must have an "until"`},
		{`"until":10000000000}`, `"until":null}`, `stale.jsonl:4: ok acquire of c1 must have an "until"`},
		{`"op":"acquire","id":1,"lock":"stock"}`, `"op":"acquire","lock":"stock"}`, `stale.jsonl:2: invoke acquire of c1 without "id"`},
		{`"op":"acquire","id":1,"lock":"stock"}`, `"op":"acquire","id":1}`, `stale.jsonl:2: invoke acquire of c1 without "lock"`},
		{`"key":"stock","lease":"c1#1"`, `"lease":"c1#1"`, `stale.jsonl:3: state set of n1 without "key"`},
		{`"op":"accept"`, `"op":"reject","op":"accept"`, `stale.jsonl:11: the field "op" occurs twice; each field must occur once`},
		{`"op":"accept"`, `"op":"accept","OP":"reject"`, `stale.jsonl:11: the field "OP" occurs twice`},
		{`"ttl":`, `"ttl":1,"ttl":`, `stale.jsonl:1: the field "ttl" occurs twice`},
		{`"value":"A"}`, `"value":"A"}}`, `stale.jsonl:11: a line must have only one JSON object`},
		{`"value":"A"}`, `"value":"A"} {}`, `stale.jsonl:11: a line must have only one JSON object`},
		{`"nodes":["n1"]`, `"nodes":["n1","n1"]`, `stale.jsonl:1: two processes are called "n1"`},
		{`"nodes":["n1"]`, `"nodes":["c1"]`, `stale.jsonl:1: two processes are called "c1"`},
		{`"nodes":["n1"]`, `"nodes":["n1"],"replicas":{"r1":"n2"}`, `stale.jsonl:1: "replicas": r1: unknown node "n2"; the only node is n1`},
		{`"ttl":`, `"ttl":-`, `stale.jsonl:1: "ttl", "bound" and "capAt" must not be negative`},
		{`"ttl":10000000000`, `"ttl":"10s"`, `stale.jsonl:1: "ttl" must be a whole number of nanoseconds, not a string`},
		{`"nodes":["n1"]`, `"nodes":"n1"`, `stale.jsonl:1: "nodes" must be an array, not a string`},
		{`"nodes":["n1"]`, `"nodes":[1]`, `stale.jsonl:1: "nodes" must be a string, not a number`},
		{`"nodes":["n1"]`, `"nodes":["n1"],"seed":-1`, `stale.jsonl:1: "seed" must be a whole number, 0 or greater, not -1`},
		{`"at":11000000000`, `"at":1e30`, `stale.jsonl:7: "at" must be a whole number of nanoseconds, not 1e30`},
		{`"id":1,"lock":"stock","lease":"c2#1"`, `"id":true,"lock":"stock","lease":"c2#1"`, `stale.jsonl:9: "id" must be a whole number, not a truth value`},
		{"\n" + `{"at":0`, "\n[1]\n" + `{"at":0`, `stale.jsonl:2: the line must be a JSON object, not an array`},
		{`"value":"A"}`, `"value":"A"`, `stale.jsonl:11: the line must be a JSON object: unexpected end of JSON input`},
		{`{"scenario"`, "\ufeff" + `{"scenario"`, `stale.jsonl:1: the file begins with a byte order mark (BOM); it must be UTF-8 without one`},
		{"\n" + `{"at":0`, "\n\n" + `{"at":0`, `stale.jsonl:2: the line is empty; each line must be a JSON object`},
		{`"clients":["c1","c2"]`, `"clients":["c1","c2","network"]`, `stale.jsonl:1: a process cannot be called "network"; a name is one word, such as c1, and not network`},
		{`"clients":["c1","c2"]`, `"clients":["c1","c2","c 3"]`, `stale.jsonl:1: a process cannot be called "c 3"; a name is one word`},
		{`"clients":["c1","c2"]`, `"clients":["c1","c2"],"names":["stock","stock"]`, `stale.jsonl:1: "names": "stock" occurs twice; each lock must occur once`},
		{`"at":0,`, ``, `stale.jsonl:2: an event must have "at", the time since the start in nanoseconds`},
		{`"at":0,`, `"at":null,`, `stale.jsonl:2: an event must have "at"`},
		{`"sent":15000000000`, `"sent":15002000000`, `stale.jsonl:11: "sent": 15002000000 must be from 0 to 15001000000, which is "at"`},
		{`"sent":15000000000`, `"sent":-5`, `stale.jsonl:11: "sent": -5 must be from 0`},
		{`"until":10000000000}`, `"until":10000000000,"fence":-1}`, `stale.jsonl:4: "fence": -1 must not be negative`},
		{`"until":10000000000}`, `"until":-5}`, `stale.jsonl:4: "until": -5 must not be negative: it is a time by the steady clock of c1`},
		{`"op":"set","key":"stock","lease":"c1#1"`, `"op":"set","key":"stock","lease":"c1#0"`, `stale.jsonl:3: the lease "c1#0" must have a number from 1, such as c1#1`},
		{`"op":"pause","value":"pause c1 15s"`, `"op":"crash","value":"crash c1"`, `stale.jsonl:10: c1 is resumed, and was not paused; an earlier fault must pause it`},
		{`"op":"pause","value":"pause c1 15s"}`, `"op":"pause","id":4,"value":"pause c1 15s"}` + "\n" + `{"at":2000000,"process":"c1","kind":"bite","id":5,"value":"pause c1 15s"}`, `stale.jsonl:6: no fault has the id 5; a bite has that of the fault which had an effect`},
		{`"kind":"fault","op":"pause"`, `"kind":"bite","op":"deliver"`, `stale.jsonl:5: kind bite: an event of this kind has no "op"; leave it out`},
	} {
		altered := strings.Replace(example, c.old, c.new, 1)
		if altered == example {
			t.Errorf("the example has no %s", c.old)
			continue
		}
		if l, errors := judged(t, altered); l.Verdict != "" || !strings.Contains(errors, c.want) {
			t.Errorf("%s:\n%s %s\nwant %s", c.new, l.Verdict, errors, c.want)
		}
	}
}

// A history that contradicts itself is refused, and the error names the line.
func TestForeignHistoryOutOfOrder(t *testing.T) {
	lines := strings.SplitAfter(exampleHistory(t), "\n")
	lines[6], lines[7] = lines[7], lines[6]
	const want = "stale.jsonl:8: time runs backwards, from 11.001s to 11s"
	if l, errors := judged(t, strings.Join(lines, "")); l.Verdict != "" || !strings.Contains(errors, want) {
		t.Errorf("%s %q %s\nwant %s", l.Verdict, l.Unmet, errors, want)
	}
}

// A property is unknown if the history lacks the events that it needs.
func TestForeignHistoryWithoutEvents(t *testing.T) {
	lines := strings.SplitAfter(exampleHistory(t), "\n")
	without := func(word string) string {
		var kept []string
		for _, l := range lines {
			if !strings.Contains(l, word) {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "")
	}
	for word, properties := range map[string][]checker.Property{
		`"resource"`:        {"resource exclusion"},
		`"kind":"state"`:    {"resource exclusion", "owner only"},
		`"kind":`:           {"lease exclusion", "resource exclusion", "expired on return", "tokens", "owner only", "fault tolerance"},
		"no line has this.": nil,
	} {
		l, errors := judged(t, without(word))
		if want := map[bool]checker.Verdict{true: checker.Inconclusive, false: checker.Unsafe}[properties != nil]; l.Verdict != want {
			t.Errorf("without %s: %s, want %s: %s", word, l.Verdict, want, errors)
		}
		for _, p := range properties {
			if l.Properties[p] != "unknown" {
				t.Errorf("without %s: %s is %s", word, p, l.Properties[p])
			}
		}
	}
}
