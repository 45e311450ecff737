package history_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"lockstep/sim/history"
)

// A history is read as it was written, or refused: neither the first line nor an event may have been changed. A history of an older
// version has a checksum of its events only.
func TestHistoryHasASum(t *testing.T) {
	h := &history.History{
		Meta: history.Meta{Scenario: "s", Nodes: []string{"n1"}, Clients: []string{"c1"}, Seed: 1, TTL: time.Second},
		Events: []history.Event{
			{Process: "c1", Kind: history.Invoke, Op: history.Acquire, ID: 1, Lock: "a"},
			{At: 1, Clock: 1, Process: "c1", Kind: history.OK, Op: history.Acquire, ID: 1, Lock: "a", Lease: "c1#1", Until: 5},
		},
	}
	var b bytes.Buffer
	if n, err := h.WriteTo(&b); err != nil || int(n) != b.Len() {
		t.Fatalf("wrote %d of %d: %v", n, b.Len(), err)
	}
	written := b.String()
	first, events, _ := strings.Cut(written, "\n")
	unsummed, _, _ := strings.Cut(first, `,"sum"`)
	older := fmt.Sprintf("%s,\"sum\":\"%08x\"}\n%s", unsummed, crc32.ChecksumIEEE([]byte(events)), events)
	for _, c := range []struct{ name, text, err string }{
		{"as it was written", written, ""},
		{"as an older version wrote it", older, ""},
		{"with another seed", strings.Replace(written, `"seed":1`, `"seed":2`, 1), "1: the history is not as it was written: "},
		{"with another TTL", strings.Replace(written, `"ttl":1000000000`, `"ttl":2000000000`, 1), "1: the history is not as it was written: "},
		{"with another event", strings.Replace(written, `"until":5`, `"until":6`, 1), "1: the history is not as it was written: "},
		{"with an unknown word", strings.Replace(written, `"ok"`, `"okay"`, 1), "1: the history is not as it was written: "},
		{"with a line less", strings.TrimSuffix(written, strings.SplitAfter(events, "\n")[1]), "1: this line says that the history has 2 events, but it has 1"},
		{"of an older version, with another event", strings.Replace(older, `"until":5`, `"until":6`, 1), "1: the history is not as it was written: "},
		{"without a scenario", strings.Replace(written, `"scenario":"s"`, `"scenario":""`, 1), `1: not a history: the first line must have a "scenario"`},
	} {
		read, err := history.ReadHistory(strings.NewReader(c.text))
		switch {
		case c.err == "" && (err != nil || read.Foreign || len(read.Events) != 2 || read.Events[1] != h.Events[1]):
			t.Errorf("%s: %v %v", c.name, read, err)
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %s", c.name, err, c.err)
		}
	}
	if read, err := history.ReadHistory(strings.NewReader(unsummed + "}\n" + events)); err != nil || !read.Foreign {
		t.Errorf("without a sum: %v %v", read, err)
	}
}

// What a line of a foreign history may contain, and what is refused. cmd/lockstep has further cases, with the messages of the
// program.
func TestForeignHistory(t *testing.T) {
	const (
		first    = `{"scenario":"s","nodes":["n1"],"clients":["c1"],"ttl":1000000000}` + "\n"
		acquired = `{"at":0,"process":"c1","kind":"ok","op":"acquire","id":1,"lock":"a","lease":"c1#1","until":1}` + "\n"
	)
	for text, want := range map[string]string{
		first + acquired: "",
		first + `{"at":0,"process":"c1","kind":"ok","op":"check","id":1}`:                              "",
		first + acquired + `{"at":0,"process":"c1","kind":"ok","op":"release","id":2,"lease":"c1#1"}`:  "",
		first + acquired + `{"at":0,"process":"c1","kind":"ok","op":"extend","id":2,"lease":"c1#1"}`:   `3: ok extend of c1 must have an "until": when the lease ends by the steady clock of c1, or 9223372036854775807 if it has no end`,
		first + acquired + `{"at":0,"process":"c1","kind":"info","op":"renew","lease":"c1#1"}`:         `3: info renew of c1 must have an "until": when the lease ends by the steady clock of c1, or 9223372036854775807 if it has no end`,
		first + acquired + `{"at":0,"process":"c1","kind":"fail","op":"extend","id":2,"lease":"c1#1"}`: "",
		first + acquired + `{"at":0,"process":"c1","kind":"ok","op":"release","id":2,"lease":"c1#2"}`:  `3: unknown lease "c1#2"; the only lease is c1#1 (did you mean "c1#1"?)`,
		first + `{"at":0,"process":"c1","kind":"fail","op":"acquire","id":1,"lock":"a"}`:               "",
		first + `{"at":"0","process":"c1"}`:                                                            `2: "at" must be a whole number of nanoseconds, not a string`,
		first + `{"id":"1","process":"c1"}`:                                                            `2: "id" must be a whole number, not a string`,
		first + `[1]`:                                                                                  "2: the line must be a JSON object, not an array",
	} {
		_, err := history.ReadHistory(strings.NewReader(text))
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
