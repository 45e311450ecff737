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

// A history is read as it was written, or not at all: neither the first line nor an event may have been altered. One that an older
// version wrote has a sum of its events only.
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
		{"with a line less", strings.TrimSuffix(written, strings.SplitAfter(events, "\n")[1]), "1: the history had 2 events, and has 1"},
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
