package explain

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/sim/history"
)

// TestLost: which crash lost a key, and whether the node came back without it.
func TestLost(t *testing.T) {
	const early = "0 n1 fault crash crash_n1\n0.5 n1 fault restart restart_n1_empty\n1 n1 set c1#1\n"
	for _, test := range []struct{ name, story, want string }{
		{"at once", "1 n1 set c1#1\n2 n1 fault crash crash_n1\n2 n1 lose c1#1", "n1 crashed at 2.000s and lost the key of c1#1."},
		{"at once, after an earlier crash", early + "2 n1 fault crash crash_n1\n2 n1 lose c1#1", "n1 crashed at 2.000s and lost the key of c1#1."},
		{"at once, when another node comes back", "1 n1 set c1#1\n2 n1 fault crash crash_n1\n2 n2 fault restart restart_n2_empty\n2 n1 lose c1#1", "n1 crashed at 2.000s and lost the key of c1#1."},
		{"when it came back", "1 n1 set c1#1\n2 n1 fault stop stop_n1\n3 n1 fault restart restart_n1_empty\n3 n1 lose c1#1",
			"n1 was stopped at 2.000s and came back at 3.000s without the key of c1#1: its disk was empty."},
		{"when it came back, before another crash", "1 n1 set c1#1\n2 n1 fault stop stop_n1\n2.5 n2 fault crash crash_n2\n3 n1 fault restart restart_n1_empty\n3 n1 lose c1#1\n4 n1 fault crash crash_n1",
			"n1 was stopped at 2.000s and came back at 3.000s without the key of c1#1: its disk was empty."},
		{"for no visible reason", "1 n1 set c1#1\n2 n2 fault crash crash_n2\n3 n1 lose c1#1", "n1 lost the key of c1#1 at 3.000s."},
		{"for no visible reason, after an earlier crash", early + "3 n1 lose c1#1", "n1 lost the key of c1#1 at 3.000s."},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.loss(n.f.Lives[0]) }), test.want)
	}

	// A crash from before the key was set may still be told.
	got := narrate(t, early+"3 n1 lose c1#1", func(n *narrator) { n.loss(n.f.Lives[0]); n.fault(step, 0) })
	told(t, "an earlier crash", got, "n1 lost the key of c1#1 at 3.000s.\nn1 crashed at 0.000s and came back at 0.500s.")
}

// TestOverwritten: a key that a later lease overwrote, which the last sentence of a story cites.
func TestOverwritten(t *testing.T) {
	for _, test := range []struct{ name, until, at, want string }{
		{"too early", "10", "5", "c2 found the key of c1#1 on n1, and overwrote it at 5.000s, though that lease lasted until 10.000s by its owner's clock."},
		{"when it was over", "10", "12", "c2 found the key of c1#1 on n1, and overwrote it at 12.000s: that lease had ended at 10.000s by its owner's clock."},
		{"too early, though it had been extended", "10\n3 c1 info renew c1#1 until=20", "12",
			"c2 found the key of c1#1 on n1, and overwrote it at 12.000s, though that lease lasted until 20.000s by its owner's clock."},
		{"without an end", "never", "12", "c2 found the key of c1#1 on n1, and overwrote it at 12.000s."},
	} {
		got := narrate(t, "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 ok acquire c1#1 until="+test.until+"\n4 c2 invoke acquire\n"+
			test.at+" n1 over c2#1 was=c1#1\n13 c2 ok acquire c2#1 until=23", func(n *narrator) {
			n.successions(&n.f.Holds[0], &n.f.Holds[1])
			if over := slices.IndexFunc(n.f.Events, func(e history.Event) bool { return e.Op == history.Over }); !slices.Equal(n.cause, []int{over}) {
				t.Errorf("%s: the cause is %v, want %d", test.name, n.cause, over)
			}
		})
		told(t, test.name, got, test.want)
	}
}

// TestOverwrittenInVain: a client overwrote a key in one attempt, and got the lock in the next.
func TestOverwrittenInVain(t *testing.T) {
	got := narrate(t, `
		0    c1 invoke acquire
		0.1  n1 set c1#1 until=never
		0.11 c1 ok acquire c1#1 until=10
		4    c2 invoke acquire
		5    n1 over c2#1 was=c1#1
		5.1  c2 fail acquire
		6    c2 invoke acquire
		7    n1 over c2#2 was=c2#1
		8    c2 ok acquire c2#2 until=17`, func(n *narrator) { n.successions(&n.f.Holds[0], &n.f.Holds[1]) })
	told(t, "in vain", got, "c1 was granted c1#1 on n1 at 0.100s, valid until 10.000s by its own clock.\n"+
		"c2 overwrote the key of c1#1 on n1 at 5.000s, in an acquire.\nc2 did not get the lock that way: its acquire failed at 5.100s.")
}

// TestElection: which of the Sentinels made the promotion with the last event of a story.
func TestElection(t *testing.T) {
	for _, test := range []struct{ name, story, want string }{
		{"elected", "1 s1 sdown n1\n1.1 s2 sdown n1\n1.2 s2 odown n1\n1.3 s2 leader n1\n", "s1 s2 considered n1 down from 1.000s on; s2 learnt at 1.200s that a quorum did, and was elected at 1.300s."},
		{"one that changed its mind twice", "1 s1 sdown n1\n1.05 s1 sdown n1\n1.1 s2 sdown n1\n1.2 s2 odown n1\n", "s1 s2 considered n1 down from 1.000s on; s2 learnt at 1.200s that a quorum did."},
		{"not visibly", "1.2 s2 odown n1\n", "At 1.200s s2 learnt that a quorum considered n1 down."},
		{"another node", "1 s1 sdown n2\n1.2 s1 odown n2\n1.3 s1 leader n2\n", ""},
		{"nobody agreed", "1 s1 sdown n1\n", ""},
		{"another Sentinel agreed first", "1.1 s1 odown n1\n1.2 s2 odown n1\n1.3 s2 leader n1\n", "At 1.200s s2 learnt that a quorum considered n1 down, and was elected at 1.300s."},
	} {
		got := narrate(t, "replica r1\n"+test.story+"2 r1 promote n1\n3 s3 odown n1", func(n *narrator) { n.election("n1", -1, len(n.f.Events)-2) })
		told(t, test.name, got, test.want)
	}
}

// TestUnrenewed: a broken link is told if it kept a lease from being renewed.
func TestUnrenewed(t *testing.T) {
	const (
		c1  = "0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.2 c1 ok acquire c1#1 until="
		cut = "2 c1-n1 fault cut cut_c1-n1\n10.1 n1 expire c1#1"
	)
	for _, test := range []struct {
		name, story string
		broken      checker.Assumption
		want        string
	}{
		{"a lock that renews", c1 + "never renews\n" + cut, checker.BoundedDelay, "From 2.000s on messages between c1 and n1 did not get through."},
		{"a lock that has renewed", c1 + "10\n1 c1 ok extend c1#1 until=11\n" + cut, checker.BoundedDelay, "From 2.000s on messages between c1 and n1 did not get through."},
		{"a lock that does not renew", c1 + "10\n" + cut, checker.BoundedDelay, ""},
		{"something else is to blame", c1 + "never renews\n" + cut, checker.BoundedPause, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) {
			n.v.Assumption = test.broken
			if got := n.unrenewed(&n.f.Holds[0], n.f.Lives); got != (test.want != "") {
				t.Errorf("%s: told %v", test.name, got)
			}
		}), test.want)
	}
}

// TestSuccessionWithoutRenewal: a key that expired because a link was broken.
func TestSuccessionWithoutRenewal(t *testing.T) {
	for broken, want := range map[checker.Assumption]string{
		checker.BoundedDelay: "From 2.000s on messages between c1 and n1 did not get through.\nThe key of c1#1 expired on n1 at 10.100s, since no renewal had come in time.",
		checker.BoundedPause: "The key of c1#1 expired on n1 at 10.100s.",
	} {
		got := narrate(t, `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			2    c1-n1 fault cut cut_c1-n1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews`, func(n *narrator) {
			n.v.Assumption = broken
			n.successions(&n.f.Holds[0], &n.f.Holds[1])
		})
		told(t, string(broken), got, want)
	}
}

// TestNeverRenewed: a lease whose keys expired, of a lock that renews leases by itself.
func TestNeverRenewed(t *testing.T) {
	const (
		c1      = "0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.2 c1 ok acquire c1#1 until=never renews\n"
		expired = "10.1 n1 expire c1#1\n"
		never   = "Nothing had renewed c1#1 until then, though its lock renews leases by itself."
	)
	for _, test := range []struct {
		name, story string
		broken      checker.Assumption
		want        string
	}{
		{"never", c1 + expired, checker.BoundedClockError, never},
		{"a link that was broken before", "0 c1-n1 fault cut cut_c1-n1\n0 x fault heal heal\n" + c1 + expired, checker.BoundedClockError, never},
		{"another client paused", c1 + "2 c2 fault pause\n3 c2 fault resume\n" + expired, checker.BoundedClockError, never},
		{"something else is to blame", c1 + expired, checker.BoundedPause, ""},
		{"a lock that does not renew", strings.ReplaceAll(c1, " renews", "") + expired, checker.BoundedClockError, ""},
		{"the client extended it", c1 + "3 c1 invoke extend c1#1\n3.1 c1 ok extend c1#1 until=13\n" + expired, checker.BoundedClockError, ""},
		{"it was renewed", c1 + "3 n1 retime c1#1 until=13\n13 n1 expire c1#1\n", checker.BoundedClockError, ""},
		{"the key was set for less than the TTL", strings.ReplaceAll(c1, "until=10.1", "until=8.1") + "8.1 n1 expire c1#1", checker.BoundedClockError, ""},
		{"nine tenths of it", strings.ReplaceAll(c1, "until=10.1", "until=9.1") + "9.1 n1 expire c1#1", checker.BoundedClockError, never},
		{"the link was broken", c1 + "2 c1-n1 fault cut cut_c1-n1\n" + expired, checker.BoundedClockError, ""},
		{"for a while", c1 + "2 c1-n1 fault cut cut_c1-n1\n3 x fault heal heal\n" + expired, checker.BoundedClockError, ""},
		{"the client paused", c1 + "2 c1 fault pause\n3 c1 fault resume\n" + expired, checker.BoundedClockError, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) {
			n.v.Assumption = test.broken
			n.neverRenewed(&n.f.Holds[0], n.f.Lives)
		}), test.want)
	}
	told(t, "no key expired", narrate(t, c1+expired, func(n *narrator) {
		n.v.Assumption = checker.BoundedClockError
		n.neverRenewed(&n.f.Holds[0], nil)
	}), "")
}

// TestCutShort: which keys of a lease were gone before its client learned of a grant that nobody saw.
func TestCutShort(t *testing.T) {
	const begin = "nodes 3\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n"
	for _, test := range []struct {
		name, story string
		early, lost int
	}{
		{"lost", begin + "0.2 n1 lose c1#1\n0.3 n2 set c1#1 until=10.3\n", 0, 1},
		{"expired too early", begin + "0.2 n1 expire c1#1 wall=20\n0.3 n2 set c1#1 until=10.3\n", 1, 0},
		{"deleted", begin + "0.2 n1 delete c1#1 by=c2\n0.3 n2 set c1#1 until=10.3\n", 0, 0},
		{"lost of a majority", begin + "0.1 n2 set c1#1 until=10.1\n0.1 n3 set c1#1 until=10.1\n0.2 n1 lose c1#1\n", 0, 0},
		{"still there", begin, 0, 0},
	} {
		narrate(t, test.story+"0.4 c1 ok acquire c1#1 until=10\n5 n2 lose c1#1", func(n *narrator) {
			if early, lost := n.cutShort(&n.f.Holds[0]); len(early) != test.early || len(lost) != test.lost {
				t.Errorf("%s: %v expired, %v lost", test.name, early, lost)
			}
		})
	}
}
