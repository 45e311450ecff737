package reports

import (
	"math"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

const wholeRun = time.Duration(math.MaxInt64)

// The steps of a run are sentences in the order of time, and say what a lecture is about.
func TestSteps(t *testing.T) {
	want := map[string][]string{
		"pause": {"n1 set the key of c1#1, which is granted.", "c1 was paused.", "The key of c1#1 expired on n1.",
			"The resource accepted B from c2.", "c1 resumed.", "The resource accepted A from c1."},
		"pause-fenced":    {"c1 acquired the lock: c1#1, fence 33.", "The resource rejected A from c1: token 33 is lower than 34."},
		"clock-jump":      {"Messages between c1 and n4, between c1 and n5, ", "The wall clock of n3 jumped forward by 11s."},
		"crash-restart":   {"n3 crashed. n3 lost the key of c1#1.", "n3 came back with an empty disk."},
		"halves":          {"asked for the lock, and was refused, 12 times."},
		"failover":        {"n1 crashed.", "s1,s2 noticed that n1 does not answer.", "agreed that n1 is down.", "r1 became a primary."},
		"failover-copied": {"r1 got a copy of the key of c1#1."},
		"watchdog":        {"n1 extended the key of c1#1.", "c1 was told that c1#1 is lost."},
		"counter":         {"The resource set counter 1, by "},
		"fixed-value":     {"for c1."},
	}
	for _, r := range sample.Runs(t) {
		var all []string
		var last time.Duration
		for i, s := range Steps(facts.Of(r.H), r.Result, wholeRun) {
			if i > 0 && s.At <= last {
				t.Errorf("%s: step %d at %v follows one at %v", r.Name, i+1, s.At, last)
			}
			last = s.At
			if !strings.HasSuffix(s.Text, ".") || strings.Contains(s.Text, history.Seconds(s.At)) {
				t.Errorf("%s: %q is no sentence without its time", r.Name, s.Text)
			}
			all = append(all, s.Text)
		}
		for _, w := range want[r.Name] {
			if text := strings.Join(all, "\n"); !strings.Contains(text, w) {
				t.Errorf("%s: no step says %q:\n%s", r.Name, w, text)
			}
		}
	}
}

// Each fault has a sentence, except those that mend what is not broken.
func TestStepsTellFaults(t *testing.T) {
	for _, text := range []string{"pause c1 1s", "pause c2", "crash n1", "jump n2 -1s", "drift n2 +500ppm", "slew n3 +1s over 10s", "cut c2->n2", "hold c1->resource",
		"delay c1-n2 1s", "reset c1-n1", "on reply SET n1->c1 hold", "crash n1 power", "stop r1", "promote r1", "follow n1 r1"} {
		b := sample.NewBuilder("faults", "single", 3, 2, "plain")
		f, err := history.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		b.Fault(time.Second, f)
		b.Acquire(2*time.Second, "c1", 1, "n1", "n2")
		first := Steps(facts.Of(b.History()), checker.Result{}, wholeRun)[0].Text
		if strings.Contains(first, "lock") && !strings.Contains(first, "clock") || strings.Contains(first, "the fault") || strings.ToLower(first[:1]) == first[:1] && !strings.Contains("cnr", first[:1]) {
			t.Errorf("%s: %q", text, first)
		}
	}
}
