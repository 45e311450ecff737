package explain

import (
	"strings"
	"testing"

	"lockstep/checker"
)

// TestPauses: which pauses of a client between two events are told, and that a key expired meanwhile.
func TestPauses(t *testing.T) {
	const c1 = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
	const expired = "The key of c1#1 expired on n1 at 10.100s."
	for _, test := range []struct{ name, story, want string }{
		{"that ended", c1 + "1 c1 fault pause pause_c1\n10.1 n1 expire c1#1\n12 c1 fault resume resume_c1", "From 1.000s to 12.000s c1 was paused.\nMeanwhile the key of c1#1 expired on n1 at 10.100s."},
		{"that never ended", c1 + "1 c1 fault pause pause_c1\n10.1 n1 expire c1#1", "From 1.000s on c1 was paused.\nMeanwhile the key of c1#1 expired on n1 at 10.100s."},
		{"that ended before the key expired", c1 + "1 c1 fault pause pause_c1\n6 c1 fault resume resume_c1\n10.1 n1 expire c1#1", "From 1.000s to 6.000s c1 was paused.\n" + expired},
		{"that began after it", c1 + "10.1 n1 expire c1#1\n11 c1 fault pause pause_c1\n19 c1 fault resume resume_c1", "From 11.000s to 19.000s c1 was paused.\n" + expired},
		{"that was short", c1 + "1 c1 fault pause pause_c1\n3.5 c1 fault resume resume_c1\n10.1 n1 expire c1#1", expired},
		{"from before the lease", "0 c1 fault pause pause_c1\n5 c1 fault resume resume_c1\n5 c1 invoke acquire\n5.1 n1 set c1#1\n5.2 c1 ok acquire c1#1 until=15\n10.1 n1 expire c1#1", expired},
		{"of another", c1 + "1 c2 fault pause pause_c2\n10.1 n1 expire c1#1\n12 c2 fault resume resume_c2", expired},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) {
			l := n.f.Holds[0]
			n.pauses(l.Client, l.ReturnEvent, len(n.f.Events))
			n.expiry(n.f.Lives, "")
		}), test.want)
	}
}

// TestDelays: a link that is slow is told, and one that is no longer slow is not.
func TestDelays(t *testing.T) {
	for _, test := range []struct{ fault, want string }{
		{"delay_c1-n1_5s", "From 0.000s on messages between c1 and n1 took 5s longer."},
		{"delay_c1-n1_0s", ""},
	} {
		told(t, test.fault, narrate(t, "0 c1-n1 fault delay "+test.fault, func(n *narrator) { n.fault(step, 0) }), test.want)
	}
}

// TestClientClocks: which wrong clock of two clients is told, if none was told yet.
func TestClientClocks(t *testing.T) {
	const (
		c1   = "0.1 c1 invoke acquire\n0.2 n1 set c1#1\n0.3 c1 ok acquire c1#1 until=10\n"
		c2   = "10.2 n1 expire c1#1\n11 c2 invoke acquire\n11.1 n1 set c2#1\n11.2 c2 ok acquire c2#1 until=21\n"
		slow = " fault drift drift_c1_-500ppm ppm=-500\n"
	)
	for _, test := range []struct {
		name, story string
		broken      checker.Assumption
		want        string
	}{
		{"of the first, from before", "0 c1" + slow + c1 + c2, checker.BoundedClockError, "From 0.000s on, the clocks of c1 ran slow by 500 ppm."},
		{"of the first, since then", c1 + "1 c1" + slow + c2, checker.BoundedClockError, "From 1.000s on, the clocks of c1 ran slow by 500 ppm."},
		{"of the second, which jumped before", "0 c2 fault jump jump_c2_+20s\n" + c1 + c2, checker.BoundedClockError, "The wall clock of c2 jumped forward by 20s at 0.000s."},
		{"of the first, which jumped before", "0 c1 fault jump jump_c1_+20s\n" + c1 + c2, checker.BoundedClockError, ""},
		{"too late", c1 + c2 + "12 c1" + slow, checker.BoundedClockError, ""},
		{"something else is to blame", "0 c1" + slow + c1 + c2, checker.BoundedPause, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) {
			n.v.Assumption = test.broken
			n.clientClocks(&n.f.Holds[0], &n.f.Holds[1])
		}), test.want)
	}
	told(t, "another was told", narrate(t, "0 n1 fault jump jump_n1_+20s\n0 c1"+slow+c1+c2, func(n *narrator) {
		n.v.Assumption = checker.BoundedClockError
		n.fault(step, 0)
		n.clientClocks(&n.f.Holds[0], &n.f.Holds[1])
	}), "The wall clock of n1 jumped forward by 20s at 0.000s.")
}

// Clocks that begin to drift at the same time, by as much, share a sentence.
func TestDrifts(t *testing.T) {
	const (
		slow = " fault drift drift_n_-500ppm ppm=-500\n"
		fast = " fault drift drift_n_+500ppm ppm=500\n"
	)
	drift := func(at, process, by string) string {
		return at + " " + process + strings.ReplaceAll(by, "_n_", "_"+process+"_")
	}
	told(t, "three alike, and two others", narrate(t, drift("1", "n3", slow)+drift("1", "n1", slow)+drift("1", "n2", fast)+drift("2", "n4", slow)+drift("2", "n5", slow), func(n *narrator) {
		for i := range n.f.Events {
			n.fault(step, i)
		}
	}), "From 1.000s on, the clocks of n1 n3 ran slow by 500 ppm.\nFrom 1.000s on, the clocks of n2 ran fast by 500 ppm.\nFrom 2.000s on, the clocks of n4 n5 ran slow by 500 ppm.")
}
