package explain

import (
	"slices"
	"testing"

	"lockstep/sim/history"
)

// TestMeant: which lease a client had in mind when it touched the key of another with the last event of a story.
func TestMeant(t *testing.T) {
	const leases = `
		0   c1 invoke acquire
		0.1 n1 set c1#1
		0.2 c1 ok acquire c1#1 until=10
		1   c1 invoke release c1#1
		1.1 n1 delete c1#1
		1.2 c1 ok release c1#1
		2   c2 invoke acquire
		2.1 n1 set c2#1
		2.2 c2 ok acquire c2#1 until=12
		3   c2 invoke release c2#1
		3.1 n1 delete c2#1
		3.2 c2 ok release c2#1
		4   c1 invoke acquire
		4.1 n1 set c1#2
		4.2 c1 ok acquire c1#2 until=14
		14.1 n1 expire c1#2
		15  c3 invoke acquire
		15.1 n1 set c3#1
		15.2 c3 ok acquire c3#1 until=25
		`
	for _, test := range []struct{ name, story, want string }{
		{"the one that it releases", "16 c1 invoke release c1#1\n", "c1#1"},
		{"the one that it extends", "16 c1 invoke extend c1#1\n", "c1#1"},
		{"in the release of what it never got, the last that it got", "16 c1 invoke release c1#3\n", "c1#2"},
		{"none in an acquire", "16 c1 invoke acquire\n", ""},
		{"the last that it got, outside an operation", "", "c1#2"},
		{"the last that it got, while it writes", "16 c1 invoke write A c1#1\n", "c1#2"},
	} {
		narrate(t, leases+test.story+"16.1 n1 delete c3#1 by=c1\n17 c1 ok acquire c1#4 until=27 -", func(n *narrator) {
			i, got := len(n.f.Events)-2, ""
			if own := n.meant(i, n.event(n.doing("c1", i))); own != nil {
				got = own.Label
			}
			if got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}

// TestLooked: what a client had read of a key before it touched it, in the same operation.
func TestLooked(t *testing.T) {
	const (
		c1  = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
		c2  = "10 n1 expire c1#1\n10.5 c2 invoke acquire\n10.6 n1 set c2#1\n10.7 c2 ok acquire c2#1 until=20.5\n"
		end = "11 n1 deliver c1 DEL_lock\n11 n1 delete c2#1 by=c1"
	)
	for _, test := range []struct{ name, story, want string }{
		{"the key", c1 + "9 c1 invoke release c1#1\n9.1 n1 deliver c1 GET_lock\n" + c2 + end, "c1 read the key on n1 at 9.100s, when it was that of c1#1."},
		{"its TTL", c1 + "9 c1 invoke release c1#1\n9.1 n1 deliver c1 PTTL_lock\n" + c2 + end, "c1 asked for the TTL of the key on n1 at 9.100s, when it was that of c1#1."},
		{"in an earlier extension", c1 + "3 c1 invoke extend c1#1\n3.1 n1 deliver c1 GET_lock\n3.2 c1 ok extend c1#1 until=9\n9 c1 invoke release c1#1\n" + c2 + end, ""},
		{"the key of another lock", c1 + "9 c1 invoke release c1#1\n9.1 n1 deliver c1 GET_other\n" + c2 + end, ""},
		{"its key on another node", c1 + "9 c1 invoke release c1#1\n9.1 n2 deliver c1 GET_lock\n" + c2 + end, ""},
		{"another did", c1 + "9 c1 invoke release c1#1\n9.1 n1 deliver c3 GET_lock\n" + c2 + end, ""},
		{"outside an operation", c1 + "9.1 n1 deliver c1 GET_lock\n" + c2 + end, ""},
		{"no key, because it was gone", c1 + "9 c1 invoke release c1#1\n9.05 n1 lose c1#1\n9.1 n1 deliver c1 GET_lock\n" + c2[len("10 n1 expire c1#1\n"):] + end, ""},
		{"the key of the lease that it deleted", c1 + "9 c1 invoke release c1#1\n" + c2 + "10.9 n1 deliver c1 GET_lock\n" + end, ""},
	} {
		told := narrate(t, test.story, func(n *narrator) {
			i := len(n.f.Events) - 1
			n.looked(n.doing("c1", i), i)
		})
		if want := slices.DeleteFunc([]string{test.want}, func(s string) bool { return s == "" }); !slices.Equal(told, want) {
			t.Errorf("%s: %q, want %q", test.name, told, want)
		}
	}
}

// TestCommand: the command that caused the last event of a story is the last that its client sent there. A real server's key changes
// a moment after the command has arrived.
func TestCommand(t *testing.T) {
	for _, test := range []struct {
		story, name string
		message     int
	}{
		{"1 n1 deliver c1 DEL_lock\n1 n1 delete c2#1 by=c1", "DEL", 0},
		{"1 n1 deliver c1 DEL_lock\n1.001 n1 delete c2#1 by=c1", "DEL", 0},
		{"1 n1 deliver c1 MULTI;_PEXPIRE_lock_5;_EXEC\n1.001 n1 retime c2#1 by=c1", "PEXPIRE", 0},
		{"1 n1 deliver c1 DEL_lock\n2 n1 deliver c1 EVAL_77_1_lock\n2 n1 delete c2#1 by=c1", "", 1},
		{"1 n1 deliver c1 DEL_other\n1 n1 delete c2#1 by=c1", "", 0},
		{"1 n1 deliver c1 EVAL_77_1_lock\n1 n1 deliver c3 DEL_lock\n1 n1 delete c2#1 by=c1", "", 0},
		{"1 n1 deliver c1 EVAL_77_1_lock\n1 n2 deliver c1 DEL_lock\n1 n1 delete c2#1 by=c1", "", 0},
		{"1 n1 deliver c1 EVAL_77_1_lock\n1 n1 drop c1 DEL_lock\n1 n1 delete c2#1 by=c1", "", 0},
		{"1 n1 delete c2#1 by=c1", "", -1},
	} {
		narrate(t, test.story, func(n *narrator) {
			if j, name := n.command(len(n.f.Events) - 1); j != test.message || name != test.name {
				t.Errorf("%s: event %d, %q, want %d, %q", test.story, j, name, test.message, test.name)
			}
		})
	}
	for name := range blindly { // all of them are commands of the history of a lock that does not compare
		narrate(t, "1 n1 deliver c1 "+name+"_lock_5\n1 n1 over c1#2 was=c2#1 by=c1", func(n *narrator) {
			if _, got := n.command(1); got != name || n.event(1).Op != history.Over {
				t.Errorf("%q, want %q", got, name)
			}
		})
	}
}

// TestIntrusion: which keys of its own a client had lost before it touched the key of another.
func TestIntrusion(t *testing.T) {
	const (
		c1    = "nodes 3\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n10.1 n1 expire c1#1\n10.1 n2 expire c1#1\n"
		c2    = "11 c2 invoke acquire\n11.1 n1 set c2#1\n11.1 n2 set c2#1\n"
		got   = "11.2 c2 ok acquire c2#1 until=21\n"
		end   = "12 c1 invoke release c1#1\n12.1 n1 delete c2#1 by=c1"
		lease = "c1 was granted c1#1 on n1 n2 at 0.100s, and learnt of it at 0.200s, valid until 10.000s by its own clock.\n"
		did   = "\nc1 deleted the key of c2#1 on n1 at 12.100s, in the release of c1#1."
	)
	for _, test := range []struct{ name, story, want string }{
		{"of a lease", c1 + c2 + got + end, lease + "The keys of c1#1 expired on n1 n2 at 10.100s.\n" +
			"c2 was granted c2#1 on n1 n2 at 11.100s, and learnt of it at 11.200s, valid until 21.000s by its own clock." + did},
		{"of what is no lease yet", c1 + c2 + end, lease + "The key of c1#1 expired on n1 at 10.100s.\nc2 set its key of c2#1 on n1 at 11.100s." + did},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.intrusion(len(n.f.Events) - 1) }), test.want)
	}
	told(t, "no event", narrate(t, c1+c2+got+end, func(n *narrator) { n.intrusion(-1) }), "")
}
