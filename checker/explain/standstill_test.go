package explain

import (
	"slices"
	"strings"
	"testing"

	"lockstep/sim/history"
)

// told checks the sentences of a narrator; want has one in each line.
func told(t *testing.T, name string, got []string, want string) {
	t.Helper()
	if all := strings.Split(want, "\n"); want == "" && len(got) > 0 || want != "" && !slices.Equal(got, all) {
		t.Errorf("%s: told\n%s\nwant\n%s", name, strings.Join(got, "\n"), want)
	}
}

// TestRepeated: a request that set a key may arrive once more, and be refused because of that key.
func TestRepeated(t *testing.T) {
	const (
		set   = "0 c1 invoke acquire\n1 n1 deliver c1 SET_lock_7_NX\n1 n1 set c1#1\n"
		again = "2 n1 deliver c1 SET_lock_7_NX sent=1.9\n"
		fail  = "3 c1 fail acquire"
		said  = "At 2.000s the same request of c1 arrived at n1 again, found the key, and was refused."
	)
	for _, test := range []struct{ name, story, want string }{
		{"again", set + again + fail, said},
		{"lost, and again", set + "1.5 n1 drop c1 SET_lock_7_NX\n" + again + fail, said},
		{"too late for its receiver", set + "1.5 n1 late c1 SET_lock_7_NX\n" + again + fail, said},
		{"after that of another client", set + "1.5 n1 deliver c2 SET_lock_7_NX\n" + again + fail, said},
		{"after one to another node", set + "1.5 n2 deliver c1 SET_lock_7_NX\n" + again + fail, said},
		{"after another request", set + "1.5 n1 deliver c1 GET_lock\n" + again + fail, said},
		{"once", set + fail, ""},
		{"after the acquire", set + fail + "\n" + strings.Replace(again, "2", "4", 1), ""},
		{"in an acquire that returned the lease", set + again + "3 c1 ok acquire c1#1 until=10", ""},
		{"in an acquire that the client gave up", set + again + "3 c1 info acquire", ""},
		{"in an acquire that never ended", set + again, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.repeated("c1", n.f.Lives[0]) }), test.want)
	}
}

// TestDawdled: a client had a majority, and its attempt went on.
func TestDawdled(t *testing.T) {
	const said = "By 0.003s c1 had its keys on n1 n2, a majority, but "
	for _, test := range []struct{ name, story, want string }{
		{"from the first event on", `
			0      c1 invoke acquire
			0.001  n3 fault stop stop_n3
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			5      c1 fail acquire`, said + "n3 did not answer, and its attempt returned only at 5.000s."},
		{"the clock of the node that was paused jumped, too", `
			0      c1 invoke acquire
			0.001  n3 fault pause pause_n3
			0.002  n3 fault jump jump_n3_+1s
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			5      c1 fail acquire`, said + "n3 did not answer, and its attempt returned only at 5.000s."},
		{"the node was paused only before", `
			0      n3 fault pause pause_n3
			0      c1 invoke acquire
			0.001  n3 fault resume resume_n3
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			5      c1 fail acquire`, said + "its attempt returned only at 5.000s."},
		{"the node answered at last", `
			0      c1 invoke acquire
			0.001  n3 fault crash crash_n3
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			4      c1 deliver n3 OK sent=3.9
			5      c1 fail acquire`, said + "its attempt returned only at 5.000s."},
		{"the node crashed", `
			0      c1 invoke acquire
			0.001  n3 fault crash crash_n3
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			5      c1 fail acquire`, said + "n3 did not answer, and its attempt returned only at 5.000s."},
		{"given up for the next attempt with the same token", `
			0      c1 invoke acquire
			0.001  n3 fault pause pause_n3
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			5      n1 delete c1#1
			5      n2 delete c1#1
			5.2    n1 set c1#1
			5.2    n2 set c1#1
			9      c1 ok acquire c1#1 until=15`, said + "n3 did not answer, and it gave up its attempt only at 5.000s."},
		{"the next attempt with the same token", `
			0      c1 invoke acquire
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			0.1    n1 delete c1#1
			0.1    n2 delete c1#1
			0.3    n1 set c1#1
			0.3    n2 set c1#1
			9      c1 ok acquire c1#1 until=15`, "By 0.300s c1 had its keys on n1 n2, a majority, but its attempt returned only at 9.000s."},
		{"not for long", `
			0      c1 invoke acquire
			0.001  n3 fault pause pause_n3
			0.003  n1 set c1#1
			0.003  n2 set c1#1
			2.503  c1 fail acquire`, ""},
		{"the keys of two attempts", `
			0      c1 invoke acquire
			0.003  n1 set c1#1
			0.004  n2 set c1#2
			5      c1 fail acquire`, ""},
		{"one key was gone when the other was set", `
			0      c1 invoke acquire
			0.003  n1 set c1#1
			0.004  n1 lose c1#1
			0.005  n2 set c1#1
			5      c1 fail acquire`, ""},
		{"another client had", `
			0      c1 invoke acquire
			0.003  n1 set c2#1
			0.003  n2 set c2#1
			5      c1 fail acquire`, ""},
	} {
		told(t, test.name, narrate(t, "nodes 3\n"+test.story, func(n *narrator) { n.dawdled("c1", 0, len(n.f.Events)-1) }), test.want)
	}
}

// TestSpurned: a client had a majority, knew it, and gave it up.
func TestSpurned(t *testing.T) {
	const (
		set     = "nodes 3\n0 c1 invoke acquire\n0.003 n1 set c1#1\n0.003 n2 set c1#1\n"
		answers = "0.005 c1 deliver n1 reply sent=0.003\n0.005 c1 deliver n2 reply sent=0.003\n"
		gone    = "0.3 n1 delete c1#1 by=c1 sent=0.2\n0.3 n2 delete c1#1 by=c1 sent=0.2\n"
		fail    = "5 c1 fail acquire"
	)
	for _, test := range []struct{ name, story, want string }{
		{"a majority", set + answers + gone + fail, "By 0.005s c1 had set its keys on n1 n2, a majority, and had received their answers, but it deleted the keys at 0.300s."},
		{"only one answer came in time", set + "0.005 c1 deliver n1 reply sent=0.003\n0.25 c1 deliver n2 reply sent=0.003\n" + gone + fail, ""},
		{"one answer was lost, and the next said no", set + "0.005 c1 deliver n1 reply sent=0.003\n0.005 c1 drop n2 reply sent=0.003\n0.1 c1 deliver n2 reply sent=0.09\n" + gone + fail, ""},
		{"only one key was deleted", set + answers + "0.3 n1 delete c1#1 by=c1 sent=0.2\n" + fail, ""},
		{"a minority", strings.Replace(set, "0.003 n2 set c1#1\n", "", 1) + answers + "0.3 n1 delete c1#1 by=c1 sent=0.2\n" + fail, ""},
		{"the keys expired", set + answers + "0.3 n1 expire c1#1\n0.3 n2 expire c1#1\n" + fail, ""},
		{"after a long time", set + answers + strings.ReplaceAll(gone, "0.", "4.") + fail, ""},
		{"it has the lease", set + answers + "0.006 c1 ok acquire c1#1 until=10\n" + gone, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.spurned("c1", 0, len(n.f.Events)-1) }), test.want)
	}
	told(t, "keys by which it waits", narrate(t, set+answers+gone+fail, func(n *narrator) {
		n.f.Passing[n.f.Lives[0].Key] = true
		n.spurned("c1", 0, len(n.f.Events)-1)
	}), "")
}

// TestAsking: the attempt that a client was making at event 3, or else its next.
func TestAsking(t *testing.T) {
	const before = "0 c1 invoke acquire\n1 c1 fail acquire\n1 c2 invoke acquire\n"
	for _, test := range []struct {
		name, story string
		want        int
	}{
		{"it began then", before + "2 c1 invoke acquire\n9 c1 fail acquire", 3},
		{"it began before", "0 c1 invoke acquire\n1 c2 invoke acquire\n1 c2 fail acquire\n2 c2 invoke wait\n9 c1 fail acquire", 0},
		{"it began after", before + "2 c3 invoke acquire\n3 c1 invoke write A\n4 c2 fail acquire\n4 c2 invoke acquire\n5 c1 invoke acquire", 7},
		{"never again", before + "2 c3 invoke acquire\n3 c1 invoke write A", -1},
	} {
		narrate(t, test.story, func(n *narrator) {
			if got := n.asking("c1", 3); got != test.want {
				t.Errorf("%s: event %d, want %d", test.name, got, test.want)
			}
		})
	}
	const long = "nodes 3\n0 c2 invoke acquire\n1 n1 set c2#1\n2 c1 invoke acquire\n2.1 n2 set c1#1\n2.1 n3 set c1#1\n9 c1 fail acquire"
	told(t, "an attempt that began too late", narrate(t, long, func(n *narrator) { n.dawdled("c1", 0, 1) }), "")
}

// TestOverstayed: when the key of a violation had been set, for how long, and how long it stayed.
func TestOverstayed(t *testing.T) {
	const was = "was gone only at 30.000s."
	for _, test := range []struct{ name, story, want string }{
		{"set", "0 c1 invoke acquire\n1 n1 set c1#1 until=11\n30 n1 expire c1#1", "The key of c1#1 had been set on n1 at 1.000s for 10s, and " + was},
		{"set on a node whose wall clock is ahead", "0 c1 invoke acquire\n1 n1 set c1#1 until=31 wall=20\n30 n1 expire c1#1", "The key of c1#1 had been set on n1 at 1.000s for 10s, and " + was},
		{"copied", "0 c1 invoke acquire\n1 r1 set c1#1 until=11 by=n1\n30 r1 expire c1#1", "The key of c1#1 had been set on r1 at 1.000s, and " + was},
		{"extended", "0 c1 invoke acquire\n1 n1 set c1#1 until=11\n1.1 c1 ok acquire c1#1 until=10\n5 n1 retime c1#1 until=15\n30 n1 expire c1#1", "The key of c1#1 had been extended on n1 at 5.000s for 10s, and " + was},
		{"without an end, of no lease", "0 c1 invoke acquire\n1 n1 set c1#1 until=never\n30 n1 expire c1#1", "The key of c1#1 had been set on n1 at 1.000s, and " + was},
		{"still there", "0 c1 invoke acquire\n1 n1 set c1#1 until=11\n30 c1 fail acquire", "The key of c1#1 had been set on n1 at 1.000s for 10s, and was still there at 30.000s."},
	} {
		told(t, test.name, narrate(t, "replica r1\n"+test.story, func(n *narrator) {
			n.v.Events = []int{1}
			n.overstayed()
		}), test.want)
	}
}

// TestObstacles: the keys that lasted while somebody asked, and why nobody removed them.
func TestObstacles(t *testing.T) {
	const first = `
		0     c1 invoke acquire
		0.1   n1 set c1#1 until=10.1
		0.2   c1 info acquire
		`
	const never = "The key of c1#1 was set on n1 at 0.100s, but c1 never had the lease: it gave up at 0.200s."
	for _, test := range []struct{ name, story, want string }{
		{"never had the lease", first, never},
		{"nor had another client", first + "0.3 c3 invoke acquire\n0.4 n2 set c3#1 until=10.4\n0.5 c3 fail acquire\n",
			never + "\nThe key of c3#1 was set on n2 at 0.400s, but c3 never had the lease: its acquire failed at 0.500s, and left the key."},
		{"for too long", strings.Replace(first, "set c1#1 until=10.1", "deliver c1 SET_lock_1 word=SET sent=0.05\n0.1 n1 set c1#1 until=60.1", 1),
			never + "\nc1 had set the key of c1#1 on n1 at 0.100s by SET, with a TTL of 60s instead of 10s."},
		{"renewed for too long", first + "5 n1 retime c1#1 until=65\n", never + "\nc1 renewed c1#1 on n1 at 5.000s, with a TTL of 60s instead of 10s."},
		{"renewed for hardly longer", first + "5 n1 retime c1#1 until=15.1\n", never + "\nc1 renewed c1#1 on n1 at 5.000s."},
		{"renewed twice", first + "5 n1 retime c1#1 until=15.1\n9 n1 retime c1#1 until=19.1\n", never + "\nc1 went on renewing c1#1 on n1, the last time at 9.000s."},
		{"without an end", strings.Replace(first, "until=10.1", "until=never", 1), never + "\nThe key of c1#1 on n1 had no expiry, and nobody else could delete it."},
		{"renewed in another acquire", first + "5 c1 invoke acquire\n5.1 n1 retime c1#1 until=15.1\n5.2 c1 fail acquire\n",
			never + "\nc1 changed the expiry of the key of c1#1 on n1 at 5.100s, in another acquire."},
		{"given an end by the script that set it", strings.Replace(first, "until=10.1", "until=never\n0.1 n1 retime c1#1 until=10.1", 1), never},
		{"given an end by a command that was late", strings.Replace(first, "until=10.1", "until=never", 1) + "5 n1 retime c1#1 until=15 sent=0.11\n", never},
		{"given an end by another", strings.Replace(first, "until=10.1", "until=never", 1) + "5 c3 invoke acquire\n5.1 n1 retime c1#1 by=c3 until=15.1\n6 c3 fail acquire\n",
			never + "\nThe key of c1#1 on n1 had no expiry until c3 gave it a TTL of 10s at 5.100s, in an acquire."},
		{"given another end by others", first + "4 n1 retime c1#1 by=c2 until=14\n5.1 n1 retime c1#1 by=c3 until=15.1\n6.1 n1 retime c1#1 by=c3 until=16.1\n",
			never + "\nc3 changed the expiry of the key of c1#1 on n1 2 times, the last time at 6.100s, to a TTL of 10s."},
		{"given another end by its own release", first + "2 c1 invoke release c1#1\n2.1 n1 retime c1#1 until=12.1\n2.2 c1 ok release c1#1\n",
			never + "\nc1 began to release c1#1 at 2.000s; the key was not deleted.\nIn the release c1 changed the expiry of the key of c1#1 on n1 at 2.100s, to a TTL of 10s."},
		{"gave back another lease", first + "1 c1 invoke acquire\n1.1 n2 set c1#2\n1.1 n3 set c1#2\n1.2 c1 ok acquire c1#2 until=11\n" +
			"2 c1 invoke release c1#2\n2.1 n2 delete c1#2\n2.1 n3 delete c1#2\n2.2 c1 ok release c1#2\n", never},
		{"exited", first + "2 c1 info exit\n", never + "\nc1 exited at 2.000s, and never released c1#1."},
		{"crashed", first + "2 c1 fault crash crash_c1\n", never + "\nc1 crashed at 2.000s, and never released c1#1."},
		{"another exited", first + "2 c3 info exit\n", never},
		{"asked for its release", first + "2 c1 invoke release c1#1\n2.1 c1 info release c1#1\n3 c1 info exit\n",
			never + "\nc1 asked for the release of c1#1 at 2.000s, and got no answer; the key was not deleted."},
		{"asked, and got an answer, but nothing of what it sent later", first + "2 c1 invoke release c1#1\n2.1 c1 info release c1#1\n3 n1 drop c1 DEL_lock\n",
			never + "\nc1 asked for the release of c1#1 at 2.000s, and got no answer; the key was not deleted."},
		{"asked in vain", first + "2 c1 invoke release c1#1\n2.1 n1 drop c1 DEL_lock\n2.2 c1 info release c1#1\n",
			never + "\nc1 asked for the release of c1#1 at 2.000s, and the request was lost on its way to n1."},
		{"exited before that", first + "2 c1 info exit\n3 c1 invoke release c1#1\n3.1 c1 info release c1#1\n",
			never + "\nc1 exited at 2.000s, and never released c1#1."},
		{"given another value in its release", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n2 c1 invoke release c1#1\n2.1 n1 over c1#1 was=c1#1 by=c1 until=12.1\n2.2 c1 ok release c1#1\n", "c1 was granted c1#1 on n1, which is not a majority, at 0.200s, valid until 10.000s by its own clock.\nThe release of c1#1 at 2.100s gave its key on n1 a new value, and did not delete it."},
	} {
		told(t, test.name, narrate(t, "nodes 3\n"+test.story+"20 c2 invoke acquire\n30 c2 fail acquire", func(n *narrator) {
			last := len(n.f.Events) - 1
			n.obstacles(last-1, last)
		}), test.want)
	}
	const leftover = "20 c2 invoke acquire\n21 c3 invoke acquire\n21.1 n3 set c3#1 until=28\n22 c3 fail acquire\n28 n3 expire c3#1\n30 c2 fail acquire"
	told(t, "a leftover key beside a majority of others", narrate(t, "nodes 3\n"+strings.Replace(first, "0.2 ", "0.1 n2 set c1#1 until=10.1\n0.2 ", 1)+leftover, func(n *narrator) {
		n.obstacles(n.before(len(n.f.Events), func(e history.Event) bool { return e.Process == "c2" && e.Kind == history.Invoke }), len(n.f.Events)-1)
	}), "The keys of c1#1 were set on n1 n2 at 0.100s, but c1 never had the lease: it gave up at 0.200s.")
}

// TestSameKey: the key that the leases of two locks have.
func TestSameKey(t *testing.T) {
	const (
		one   = "0 c1 invoke acquire lock=a:b\n0.1 n1 set c1#1 key=a-b\n0.2 c1 ok acquire c1#1 until=10 lock=a:b\n5 n1 delete c1#1 key=a-b\n"
		other = "6 c2 invoke acquire lock=a_b\n6.1 n1 set c2#1 key=a-b\n6.2 c2 ok acquire c2#1 until=16 lock=a_b\n"
	)
	for _, test := range []struct{ name, story, want string }{
		{"one key", one + other, "The locks a:b and a_b have the same key on n1: a-b."},
		{"two keys", one + strings.Replace(other, "key=a-b", "key=a_b", 1), ""},
		{"one lock", one + strings.ReplaceAll(other, "lock=a_b", "lock=a:b"), ""},
		{"two nodes", "nodes 2\n" + one + strings.Replace(other, "n1", "n2", 1), ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.sameKey("a_b") }), test.want)
	}
}

// TestQueued: how long a client stayed in a queue, and why.
func TestQueued(t *testing.T) {
	const put = "0 c1 invoke acquire\n0.1 n1 set c1#1 key=queue until=never\n0.2 c1 info acquire\n"
	const was = "c1 was put into queue on n1 at 0.100s, where clients wait for the lock.\n"
	for _, test := range []struct{ name, story, want string }{
		{"to the end", put, was + "Nothing removed c1 from there."},
		{"gone only after that", put + "5 n1 delete c1#1 key=queue by=c2\n6 c1 info exit\n", was + "Nothing removed c1 from there until 5.000s."},
		{"exited", put + "5 c1 info exit\n6 n1 delete c1#1 key=queue by=c2\n", was + "c1 exited at 5.000s, and nothing removed it from there until 6.000s."},
		{"crashed", put + "5 c1 fault crash crash_c1\n", was + "c1 crashed at 5.000s, and nothing removed it from there."},
	} {
		told(t, test.name, narrate(t, test.story+"9 c2 info exit", func(n *narrator) { n.queued("c1", n.f.Lives) }), test.want)
	}
}

// TestWithoutRequest: a client that is refused once without a request says nothing of its lock, whatever else fails.
func TestWithoutRequest(t *testing.T) {
	const asked = "0 c1 invoke acquire\n0.1 n1 deliver c1 sent=0.05\n1 c1 fail acquire\n2 c1 invoke acquire\n"
	for _, test := range []struct{ name, story, want string }{
		{"refused twice", asked + "3 c1 fail acquire\n11 c1 invoke acquire\n12 c1 fail acquire", "From 0.050s to 12.000s c1 sent no request to a lock node: its lock refused it without asking one."},
		{"refused once, after a check that failed", asked + "3 c1 fail check c1#0\n12 c1 fail acquire", ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.withoutRequest("c1", len(n.f.Events)-1) }), test.want)
	}
}

// TestPlanted: whether a key comes from a request that arrived when its acquire was over.
func TestPlanted(t *testing.T) {
	const gaveUp = "0 c1 invoke acquire\n1 c1 info acquire\n"
	for _, test := range []struct{ name, story, want string }{
		{"given up", gaveUp + "2 n1 set c1#1 sent=0.3", "the request had left at 0.300s, and the client had given up at 1.000s"},
		{"given up as it left", gaveUp + "2 n1 set c1#1 sent=1", "the request had left at 1.000s, and the client had given up at 1.000s"},
		{"failed", "0 c1 invoke acquire\n1 c1 fail acquire\n2 n1 set c1#1 sent=0.3", "the request had left at 0.300s, and the acquire had failed at 1.000s"},
		{"returned, of two", gaveUp + "2 c1 invoke acquire\n3 c1 ok acquire c1#1 until=12\n4 n1 set c1#1 sent=2", "the request had left at 2.000s, and the acquire had returned at 3.000s"},
		{"before it left", gaveUp + "2 n1 set c1#1 sent=1.5", ""},
		{"after it arrived", "0 c1 invoke acquire\n0.5 n1 set c1#1 sent=0.3\n1 c1 fail acquire", ""},
		{"never", "0 c1 invoke acquire\n0.5 n1 set c1#1 sent=0.3", ""},
		{"never, and nobody knows when it left", "0 c1 invoke acquire\n0 n1 set c1#1", ""},
		{"of another client", "0 c2 invoke acquire\n1 c2 fail acquire\n2 n1 set c1#1 sent=0.3", ""},
		{"of another operation", "0 c1 invoke extend c1#1\n1 c1 fail extend c1#1\n2 n1 set c1#1 sent=0.3", ""},
	} {
		narrate(t, test.story, func(n *narrator) {
			if got, _ := n.planted("c1", n.f.Lives[0]); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}

// TestUnheard: whether the reply to the request that set a key was lost.
func TestUnheard(t *testing.T) {
	const set = "0 c1 invoke acquire\n1 n1 set c1#1\n"
	const lost = ": the reply was lost at 2.000s"
	for _, test := range []struct{ name, story, want, fault string }{
		{"lost", set + "2 c1 drop n1 OK sent=1", lost, ""},
		{"too late for its client", set + "2 c1 late n1 OK sent=1", lost, ""},
		{"it arrived", set + "2 c1 deliver n1 OK sent=1", "", ""},
		{"nothing came", set, "", ""},
		{"an earlier reply arrived after that", set + "1.5 c1 deliver n1 OK sent=0.9\n2 c1 drop n1 OK sent=1", lost, ""},
		{"from another node", set + "1.5 c1 deliver n2 OK sent=1\n2 c1 drop n1 OK sent=1", lost, ""},
		{"to another client", set + "1.5 c2 deliver n1 OK sent=1\n2 c1 drop n1 OK sent=1", lost, ""},
		{"with its connection", set + "2 c1-n1 fault reset reset_c1-n1\n2 c1 drop n1 OK sent=1", lost, "The connections of c1 and n1 broke at 2.000s."},
		{"after the connection of another broke", set + "2 c2-n1 fault reset reset_c2-n1\n2 c1 drop n1 OK sent=1", lost, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) {
			if got, _ := n.unheard("c1", n.f.Lives); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		}), test.fault)
	}
}

// TestSplit: the last instant at which several clients kept each other from a majority.
func TestSplit(t *testing.T) {
	const begin = "nodes 3\n0 c1 invoke acquire\n0 c2 invoke acquire\n0 c3 invoke acquire\n1 n1 set c1#1\n"
	const end = "9 c1 fail acquire\n9 c2 fail acquire\n9 c3 fail acquire"
	for _, test := range []struct{ name, story, want string }{
		{"two", begin + "2 n2 set c2#1\n" + end, "Nobody had a majority: at 2.000s c1#1 had n1 and c2#1 had n2."},
		{"three", begin + "2 n2 set c2#1\n3 n3 set c3#1\n" + end, "Nobody had a majority: at 3.000s c1#1 had n1, c2#1 had n2 and c3#1 had n3."},
		{"one has a majority", begin + "1 n2 set c1#1\n2 n3 set c2#1\n" + end, ""},
		{"one alone", begin + end, ""},
		{"one after the other", begin + "1.5 n1 delete c1#1\n2 n2 set c2#1\n" + end, ""},
	} {
		told(t, test.name, narrate(t, test.story, func(n *narrator) { n.split(0, len(n.f.Events)-1) }), test.want)
	}
}
