package explain

import (
	"strings"
	"testing"
)

// TestGrant: a client is said to have learnt of its grant late only if it took more than a moment.
func TestGrant(t *testing.T) {
	for ok, want := range map[string]string{
		"0.110": "c1 was granted c1#1 on n1 at 0.100s, valid until 10.000s by its own clock.",
		"0.111": "c1 was granted c1#1 on n1 at 0.100s, and learnt of it at 0.111s, valid until 10.000s by its own clock.",
	} {
		got := narrate(t, "0 c1 invoke acquire\n0.1 n1 set c1#1\n"+ok+" c1 ok acquire c1#1 until=10", func(n *narrator) { n.grant(&n.f.Holds[0], "") })
		told(t, ok, got, want)
	}
}

// TestGoneVotes: a key that was gone when its client learnt of the grant is told only if no majority was left.
func TestGoneVotes(t *testing.T) {
	const left = "nodes 3\n0 c1 invoke acquire\n0.1 n3 set c1#1\n0.101 n3 lose c1#1\n0.102 n1 set c1#1\n"
	for _, test := range []struct{ story, want string }{
		{left, "c1 was granted c1#1 on n1 (and on n3, where its key was gone by then) at 0.103s, valid until 10.000s by its own clock."},
		{left + "0.102 n2 set c1#1\n", "c1 was granted c1#1 on n1 n2 at 0.102s, valid until 10.000s by its own clock."},
	} {
		told(t, test.story, narrate(t, test.story+"0.103 c1 ok acquire c1#1 until=10", func(n *narrator) { n.grant(&n.f.Holds[0], "") }), test.want)
	}
}

// TestRenewals: until when a lease was extended before the last event of a story.
func TestRenewals(t *testing.T) {
	const c1 = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
	const end = "30 n1 expire c1#1"
	for _, test := range []struct{ name, story, want string }{
		{"never", c1, ""},
		{"once", c1 + "5 c1 ok extend c1#1 until=15\n", "c1 extended c1#1 at 5.000s, until 15.000s by its own clock."},
		{"twice", c1 + "5 c1 ok extend c1#1 until=15\n6 n1 retime c1#1 until=16\n7 c1 info renew c1#1 until=17\n", "c1 extended c1#1 2 times, the last time at 7.000s, until 17.000s by its own clock."},
		{"by no node", c1 + "5 c1 invoke extend c1#1\n5.1 c1 ok extend c1#1 until=15\n", "c1 extended c1#1 at 5.100s, until 15.000s by its own clock, though no node extended its key."},
		{"by a node, before", c1 + "4 n1 retime c1#1 until=14\n5 c1 invoke extend c1#1\n5.1 n1 retime c2#1 until=15 by=c1\n5.2 c1 ok extend c1#1 until=15\n",
			"c1 extended c1#1 at 5.200s, until 15.000s by its own clock, though no node extended its key."},
		{"by a node that set the key again", c1 + "5 c1 invoke extend c1#1\n5.1 n1 set c1#1 until=15\n5.2 c1 ok extend c1#1 until=15\n", "c1 extended c1#1 at 5.200s, until 15.000s by its own clock."},
		{"by a minority", "nodes 3\n" + strings.Replace(c1, "0.2", "0.1 n2 set c1#1\n0.2", 1) + "5 c1 invoke extend c1#1\n5.1 n2 retime c1#1 until=15\n5.2 c1 ok extend c1#1 until=15\n",
			"c1 extended c1#1 at 5.200s, until 15.000s by its own clock, though only n2 extended its key."},
		{"another lease", c1 + "5 c1 ok extend c1#2 until=15\n", ""},
		{"the lease of another", c1 + "5 c1 ok extend c1#1 until=15\n7 c2 info renew c2#1 until=17\n", "c1 extended c1#1 at 5.000s, until 15.000s by its own clock."},
		{"refused", c1 + "5 c1 fail extend c1#1\n", ""},
		{"silently", "0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.2 c1 ok acquire c1#1 until=never\n5 n1 retime c1#1 until=15\n", "c1 renewed the key of c1#1 on n1, the last time at 5.000s."},
		{"silently, by another", "0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.2 c1 ok acquire c1#1 until=never\n5 n1 retime c1#1 until=15\n6 n1 retime c1#1 until=16 by=c2\n", "c1 renewed the key of c1#1 on n1, the last time at 5.000s."},
	} {
		told(t, test.name, narrate(t, test.story+end, func(n *narrator) { n.renewals(&n.f.Holds[0], len(n.f.Events)-1) }), test.want)
	}
}

// TestLateGrant: what kept a client from learning of its grant.
func TestLateGrant(t *testing.T) {
	const (
		c1  = "0 c1 invoke acquire\n0.1 n1 set c1#1\n"
		end = "6 c1 ok acquire c1#1 until=10"
	)
	for _, test := range []struct{ name, story, want string }{
		{"a late reply", c1 + "6 c1 deliver n1 OK sent=0.1\n" + end, "A message that n1 had sent to c1 at 0.100s arrived only at 6.000s."},
		{"a late message to another", c1 + "5 c2 deliver n1 OK sent=0.1\n" + end, ""},
		{"a late reply to an earlier request", "0 c1 invoke read\n0.5 c1 fail read\n1 c1 invoke acquire\n1.1 n1 set c1#1\n5 c1 deliver n1 OK sent=0.5\n" + end, ""},
		{"a prompt reply", c1 + "0.2 c1 deliver n1 OK sent=0.1\n" + end, ""},
		{"a pause", c1 + "0.2 c1 fault pause pause_c1\n5.9 c1 fault resume resume_c1\n6 c1 deliver n1 OK sent=0.1\n" + end, "From 0.200s to 5.900s c1 was paused."},
		{"not late", c1 + "2 c1 deliver n1 OK sent=0.1\n2.5 c1 ok acquire c1#1 until=10", ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.delays(&n.f.Holds[0]) }), test.want)
	}
}
