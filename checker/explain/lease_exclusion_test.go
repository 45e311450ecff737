package explain

import (
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/sim/history"
)

// TestReleasing: what a client did to release a lease, and with what result.
func TestReleasing(t *testing.T) {
	const (
		asked = "1 c1 invoke release c1#1\n"
		sent  = "1.1 n1 deliver c1 DEL_lock sent=1\n"
		info  = "2 c1 info release c1#1"
		past  = "0 n1 deliver c1 SET_lock sent=0\n"
		text  = "c1 asked for the release of c1#1 at 1.000s, "
	)
	for _, test := range []struct{ name, story, error, want string }{
		{"in time", past + asked + sent + "2 c1 ok release c1#1", "", "c1 began to release c1#1 at 1.000s"},
		{"never ended", past + asked + sent, "", "c1 began to release c1#1 at 1.000s"},
		{"failed", past + asked + sent + "2 c1 fail release c1#1", "", "c1 asked for the release of c1#1 at 1.000s, which failed"},
		{"failed, and why", past + asked + sent + "2 c1 fail release c1#1", "lock is not held.", "c1 asked for the release of c1#1 at 1.000s, which failed: lock is not held"},
		{"failed, with an address", past + asked + sent + "2 c1 fail release c1#1", "no answer from 10.0.0.1", "c1 asked for the release of c1#1 at 1.000s, which failed"},
		{"no answer", past + asked + sent + info, "", text + "and got no answer"},
		{"only an error", past + asked + sent + info, "context canceled", text + "and got only an error: context canceled"},
		{"canceled before it was sent", past + asked + info, "cannot release: context canceled", text + "but no request was sent, because its context had been canceled"},
		{"not sent", past + asked + info, "", text + "but no request was sent"},
		{"nothing was ever recorded", asked + info, "", text + "and got no answer"},
		{"perhaps held on its way", past + "0.5 c1-n1 fault cut cut_c1-n1\n" + asked + info, "", text + "and got no answer"},
		{"only the resource was asked", past + asked + "1.1 resource deliver c1 GET sent=1\n" + info, "", text + "but no request was sent"},
		{"another asked", past + asked + "1.1 n1 deliver c2 GET_lock sent=1\n" + info, "", text + "but no request was sent"},
		{"asked only before, and after", past + "1 n1 deliver c1 GET_lock sent=0.9\n" + asked + info + "\n3 n1 deliver c1 GET_lock sent=2.1", "", text + "but no request was sent"},
		{"as it ended", past + asked + info + "\n3 n1 deliver c1 DEL_lock sent=2", "", text + "and got no answer"},
	} {
		narrate(t, test.story, func(n *narrator) {
			released := -1
			for i := range n.f.Events {
				if e := &n.f.Events[i]; e.Op == history.Release && e.Kind == history.Invoke {
					released = i
				} else if e.Op == history.Release {
					e.Error = test.error
				}
			}
			if got, _ := n.releasing(released); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}

// TestMargin: what a lock on several nodes left for the drift of clocks.
func TestMargin(t *testing.T) {
	three := func(until string) string {
		return "nodes 3\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.2 n2 set c1#1 until=10.2\n0.3 c1 ok acquire c1#1 until=" + until
	}
	const told10ms = "By the clock of c1, c1#1 was to end only 10ms before its first key, which had been set at 0.100s with a TTL of 10s: that was all it left for the drift of clocks."
	for _, test := range []struct {
		name, story string
		broken      checker.Assumption
		want        string
	}{
		{"a little", three("10.09"), checker.BoundedClockError, told10ms},
		{"enough", three("10.0"), checker.BoundedClockError, ""},
		{"nothing", three("10.1"), checker.BoundedClockError, ""},
		{"something else is to blame", three("10.09"), checker.BoundedPause, ""},
		{"a lock that renews", three("10.09 renews"), checker.BoundedClockError, ""},
		{"a lease without an end", three("never"), checker.BoundedClockError, ""},
		{"one node", "0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.3 c1 ok acquire c1#1 until=10.09", checker.BoundedClockError, ""},
		{"a third key that was gone", strings.Replace(three("10.09"), "0.3 ", "0.21 n3 set c1#1 until=10.095\n0.25 n3 delete c1#1\n0.3 ", 1), checker.BoundedClockError, told10ms},
		{"a third key that came later", three("10.09") + "\n0.4 n3 set c1#1 until=10.095", checker.BoundedClockError, told10ms},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) {
			n.v.Assumption = test.broken
			n.margin(&n.f.Holds[0])
		}), test.want)
	}
}
