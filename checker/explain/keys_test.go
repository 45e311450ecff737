package explain

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// A story names what the lock did wrong: how long it let its key live, and under which name; by which clock it drew a token; what it
// did when the lease was over.
func TestExplainWhatTheLockDid(t *testing.T) {
	const (
		c1  = "0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=10.004\n0.006 c1 ok acquire c1#1 until=10\n"
		end = "6 c2 invoke acquire\n6.004 n1 set c2#1 key=lock until=16.004\n6.006 c2 ok acquire c2#1 until=16\n"

		later = "11 c2 invoke acquire\n11.004 n1 set c2#1 key=lock until=21.004\n11.006 c2 ok acquire c2#1 until=21\n"
		write = "12 c1 invoke write A c1#1\n12.001 resource accept A c1#1 sent=12\n"
	)
	renews := strings.Replace(c1, "until=10\n", "until=10 renews\n", 1)
	for _, c := range []struct {
		name, story string
		property    checker.Property
		want        string
	}{
		{"an extension that was not answered", c1 + "1 c1 invoke extend c1#1 ttl=3\n1.004 n1 retime c1#1 key=lock until=4.004\n1.006 c1 info extend c1#1 ttl=3\n4.004 n1 expire c1#1 key=lock\n" + end,
			checker.LeaseExclusion, "c1 asked at 1.000s for c1#1 to end 3s later, and got no answer, but n1 carried it out."},
		{"an extension that reached one node of two", "nodes 3\n0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=10.004\n0.004 n2 set c1#1 key=lock until=10.004\n0.006 c1 ok acquire c1#1 until=10\n" +
			"1 c1 invoke extend c1#1\n1.004 n1 retime c1#1 key=lock until=11.004\n1.006 c1 info extend c1#1\n2 c1 invoke extend c1#1\n2.006 c1 ok extend c1#1 until=12\n10.004 n2 expire c1#1 key=lock\n11.004 n1 expire c1#1 key=lock\n" +
			"11.1 c2 invoke acquire\n11.104 n1 set c2#1 key=lock until=21.104\n11.104 n2 set c2#1 key=lock until=21.104\n11.106 c2 ok acquire c2#1 until=21",
			checker.LeaseExclusion, "c1 asked at 1.000s for c1#1 to end 10s later, and got no answer, but n1 carried it out."},
		{"a TTL that is too short", "0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=5.004\n0.006 c1 ok acquire c1#1 until=10\n5.004 n1 expire c1#1 key=lock\n" + end,
			checker.LeaseExclusion, "By 0.004s c1 had given the key of c1#1 on n1 a TTL of 5s, which is less than it counted on."},
		{"an extension with too short a TTL", c1 + "1 c1 invoke extend c1#1\n1.004 n1 retime c1#1 key=lock until=1.014\n1.006 c1 ok extend c1#1 until=11\n1.014 n1 expire c1#1 key=lock\n" + end,
			checker.LeaseExclusion, "By 1.004s c1 had given the key of c1#1 on n1 a TTL of 10ms, which is less than it counted on."},
		{"an extension that its lock counts as longer", c1 + "5 c1 invoke extend c1#1\n5.004 n1 retime c1#1 key=lock until=12.004\n5.006 c1 ok extend c1#1 until=15\n12.004 n1 expire c1#1 key=lock\n" +
			"12.5 c2 invoke acquire\n12.504 n1 set c2#1 key=lock until=22.504\n12.506 c2 ok acquire c2#1 until=22",
			checker.LeaseExclusion, "By 5.004s c1 had given the key of c1#1 on n1 a TTL of 7s, which is less than it counted on."},
		{"an extension with too short a TTL on several nodes", "nodes 3\n0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=10.004\n0.004 n2 set c1#1 key=lock until=10.004\n0.006 c1 ok acquire c1#1 until=10\n" +
			"1 c1 invoke extend c1#1\n1.004 n1 retime c1#1 key=lock until=1.014\n1.004 n2 retime c1#1 key=lock until=1.014\n1.006 c1 ok extend c1#1 until=11\n1.014 n1 expire c1#1 key=lock\n1.014 n2 expire c1#1 key=lock\n" +
			"6 c2 invoke acquire\n6.004 n1 set c2#1 key=lock until=16.004\n6.004 n2 set c2#1 key=lock until=16.004\n6.006 c2 ok acquire c2#1 until=16",
			checker.LeaseExclusion, "By 1.004s c1 had given the keys of c1#1 on n1 n2 a TTL of 10ms, which is less than it counted on."},
		{"work in time", c1 + "5 n1 delete c1#1 key=lock by=c3\n" + end + "7 c1 invoke write A c1#1\n7.001 resource accept A c1#1 sent=7",
			checker.ResourceExclusion, "No broken assumption explains this: the lock itself is at fault."},
		{"work after the release, and after the lease", c1 + "5 c1 invoke release c1#1\n5.001 n1 delete c1#1 key=lock\n5.002 c1 ok release c1#1\n" + end + "11 c1 invoke write A c1#1\n11.001 resource accept A c1#1 sent=11",
			checker.ResourceExclusion, "No broken assumption explains this: the lock itself is at fault."},
		{"work that begins as the lease ends", c1 + "10 c1 invoke write A c1#1\n10.004 n1 expire c1#1 key=lock\n10.005 c2 invoke acquire\n10.006 n1 set c2#1 key=lock until=20.006\n10.007 c2 ok acquire c2#1 until=20\n10.008 resource accept A c1#1 sent=10.001",
			checker.ResourceExclusion, "No assumption was broken: c1 worked longer than its lease lasted, and nothing renewed the lease."},
		{"a lease that moved alone", "0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=5.004\n0.006 c1 ok acquire c1#1 until=5\n4 c1 invoke extend c1#1\n4.006 c1 ok extend c1#1 until=14\n5.004 n1 expire c1#1 key=lock\n" + end,
			checker.LeaseExclusion, "No command had moved the deadline of the key of c1#1 on n1 since 0.004s."},
		{"another name", c1 + strings.Replace(end, "key=lock", "key=lock:6", 1),
			checker.LeaseExclusion, "The key of c2#1 on n1 is lock:6, and that of c1#1 is lock."},
		{"another name, which is all that is said", c1 + strings.Replace(end, "key=lock", "key=lock:6", 1),
			checker.LeaseExclusion, "c2 was granted c2#1 on n1 at 6.004s, valid until 16.000s by its own clock."},
		{"no end", strings.Replace(c1, "until=10\n", "until=never\n", 1) + "10.004 n1 expire c1#1 key=lock\n10.0045 c2 invoke acquire\n10.005 n1 set c2#1 key=lock\n10.0055 c2 ok acquire c2#1 until=20",
			checker.LeaseExclusion, "c1 did not know this: c1#1 has no end, and a TTL had not passed since the reply at 0.006s."},
		{"no end, and no deadline", "0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=never\n0.006 c1 ok acquire c1#1 until=never\n5 n1 delete c1#1 key=lock by=c3\n" + end,
			checker.LeaseExclusion, "c1 did not know this: c1#1 has no end."},
		{"no end, and silent renewals", strings.Replace(c1, "until=10\n", "until=never\n", 1) + "3 n1 retime c1#1 key=lock until=13.004\n5 n1 delete c1#1 key=lock by=c3\n" + end,
			checker.LeaseExclusion, "c1 did not know this: c1#1 has no end."},
		{"a key that counts", "0 c1 invoke acquire\n0.004 n1 set 1 key=lock by=c1\n0.006 c1 ok acquire c1#1 until=10\n1 c2 invoke acquire\n1.006 c2 ok acquire c2#1 until=11",
			checker.LeaseExclusion, "No broken assumption explains this: the lock itself is at fault. Its key holds no token of a lease."},
		{"the time of a node as token", "0 c1 invoke acquire\n0.004 n1 set c1#1\n0.006 c1 ok acquire c1#1 until=1 fence=946684800004\n2 n1 fault jump jump_n1_-1m\n5 c2 invoke acquire\n5.004 n1 set c2#1 wall=-60\n5.006 c2 ok acquire c2#1 until=16 fence=946684745004",
			checker.Tokens, "Fences 946684800004 and 946684745004 are times of a clock, which went back in between."},
		{"an extension that lasts", c1 + "1 c1 invoke extend c1#1\n1.004 n1 retime c1#1 key=lock until=3001.004\n1.006 c1 ok extend c1#1 until=11\n2 c1 info exit\nprobe probe\n20 probe invoke acquire\n30 probe fail acquire",
			checker.DeadlockFreedom, "c1 had extended c1#1 on n1 at 1.004s, with a TTL of 3000s instead of 10s."},
		{"an extension that lasts, as it was asked to", c1 + "1 c1 invoke extend c1#1 ttl=3000\n1.004 n1 retime c1#1 key=lock until=3001.004\n1.006 c1 info extend c1#1\n2 c1 info exit\nprobe probe\n20 probe invoke acquire\n30 probe fail acquire",
			checker.DeadlockFreedom, "c1 had extended c1#1 on n1 at 1.004s, by a TTL of 3000s."},
		{"a late extension", c1 + "10.004 n1 expire c1#1 key=lock\n" + "11 c2 invoke acquire\n11.004 n1 set c2#1 key=lock until=21.004\n11.006 c2 ok acquire c2#1 until=21\n" +
			"11.1 c2 invoke release c2#1\n11.101 n1 delete c2#1 key=lock by=c2\n11.102 c2 ok release c2#1\n12 c1 invoke extend c1#1\n12.004 n1 set c1#1 key=lock until=22.004\n12.006 c1 ok extend c1#1 until=22\n13 c1 invoke write A c1#1\n13.001 resource accept A c1#1",
			checker.ResourceExclusion, "c1 extended c1#1 at 12.006s, after it had ended, until 22.000s by its own clock."},
		{"an extension of another's key", c1 + "10.004 n1 expire c1#1 key=lock\n" + "11 c2 invoke acquire\n11.004 n1 set c2#1 key=lock until=21.004\n11.006 c2 ok acquire c2#1 until=21\n" +
			"12 c1 invoke extend c1#1\n12.004 n1 deliver c1 PEXPIRE_lock_10000 sent=12\n12.004 n1 retime c2#1 key=lock until=22.004 by=c1\n12.006 c1 ok extend c1#1 until=22",
			checker.OwnerOnly, "c1 changed the expiry of the key of c2#1 on n1 at 12.004s, in the extension of c1#1: PEXPIRE does not compare the token."},
		{"a key that was deleted before another was set", "nodes 3\n0 c1 invoke acquire\n0.004 n1 set c1#1 key=lock until=10.004\n0.004 n2 set c1#1 key=lock until=10.004\n0.006 c1 ok acquire c1#1 until=10\n" +
			"1 n1 delete c1#1 key=lock by=c1 sent=0.9\n2 n3 set c1#1 key=lock until=10.004 sent=0.003",
			checker.NoLostVote, "The lease kept the key on n2."},
		{"a key that was shortened", c1 + "1 c1 invoke extend c1#1\n1.004 n1 retime c1#1 key=lock until=1.024\n1.006 c1 ok extend c1#1 until=11",
			checker.NoLostVote, "c1 shortened the life of its own key of c1#1 on n1 at 1.004s, to a TTL of 20ms."},
		{"a key that was shortened without an answer", c1 + "1 c1 invoke extend c1#1 ttl=3\n1.004 n1 retime c1#1 key=lock until=4.004\n1.006 c1 fail extend c1#1 ttl=3",
			checker.NoLostVote, "c1 shortened the life of its own key of c1#1 on n1 at 1.004s, in the extension by 3s that had begun at 1.000s; it got only an error, and its lock kept the later end of the lease."},
		{"work under a lease whose end moved by itself", c1 + "10.004 n1 expire c1#1 key=lock\n" + later + "11.9 c1 invoke check c1#1\n11.9 c1 ok check c1#1\n" + write,
			checker.ResourceExclusion, "c1 checked at 11.900s whether c1#1 was valid. The lock said yes, although the lease had ended at 10.000s and nothing had extended it: the lock had moved the end by itself."},
		{"work under a lease whose end moved by itself is not the client's fault", c1 + "10.004 n1 expire c1#1 key=lock\n" + later + "11.9 c1 invoke check c1#1\n11.9 c1 ok check c1#1\n" + write,
			checker.ResourceExclusion, "No broken assumption explains this: the lock itself is at fault."},
		{"work under a lease that was renewed in silence", c1 + "9 n1 retime c1#1 key=lock until=19\n9.5 n1 delete c1#1 key=lock by=c3\n" + later + "11.9 c1 invoke check c1#1\n11.9 c1 ok check c1#1\n" + write,
			checker.ResourceExclusion, "c1 checked its clock at 11.900s, and c1#1 was valid."},
		{"work under a lease after an extension that was not answered", c1 + "5 c1 invoke extend c1#1\n5.004 n1 retime c1#1 key=lock until=15.004\n6 c1 info extend c1#1 until=15\n9.5 n1 delete c1#1 key=lock by=c3\n" + later +
			"11.9 c1 invoke check c1#1\n11.9 c1 ok check c1#1\n" + write,
			checker.ResourceExclusion, "c1 checked its clock at 11.900s, and c1#1 was valid."},
		{"work under a lease for which an extension told another end, though it moved no key", c1 + "5 c1 invoke extend c1#1\n6 c1 info extend c1#1 until=15\n9.5 n1 delete c1#1 key=lock by=c3\n" + later +
			"11.9 c1 invoke check c1#1\n11.9 c1 ok check c1#1\n" + write,
			checker.ResourceExclusion, "c1 checked its clock at 11.900s, and c1#1 was valid."},
		{"a lease that its lock did not renew", renews + "10.004 n1 expire c1#1 key=lock\n" + later + write,
			checker.ResourceExclusion, "No assumption was broken: the lock renews leases by itself, but did not renew c1#1 in time. The lock itself is at fault."},
		{"a lease that its lock could not renew in a pause", renews + "1 c1 fault pause pause_c1\n10.004 n1 expire c1#1 key=lock\n" + later +
			"11.5 c1 fault resume resume_c1\n11.5 c1 invoke write A c1#1\n11.5 c1 info renew c1#1 until=21.5\n11.501 resource accept A c1#1 sent=11.5\n",
			checker.ResourceExclusion, "No assumption was broken: c1 worked longer than its lease lasted, and nothing renewed the lease."},
		{"a lease that its lock could not renew on a node that was down", strings.Replace("nodes 3\n"+renews, "0.006", "0.004 n2 set c1#1 key=lock until=10.004\n0.006", 1) +
			"2 n3 fault crash crash_n3\n9 n3 fault restart restart_n3\n10.004 n1 expire c1#1 key=lock\n10.004 n2 expire c1#1 key=lock\n" + strings.Replace(later, "11.006", "11.004 n2 set c2#1 key=lock until=21.004\n11.006", 1) + write,
			checker.ResourceExclusion, "No assumption was broken: c1 worked longer than its lease lasted, and the lock, which renews leases by itself, did not renew c1#1 in time."},
		{"an extension by less than was asked for", c1 + "0.1 c1 invoke extend c1#1 ttl=20\n0.104 n1 retime c1#1 key=lock until=10.104\n0.106 c1 ok extend c1#1 until=10.1 ttl=20\n10.104 n1 expire c1#1 key=lock\n" + later + write,
			checker.ResourceExclusion, "No assumption was broken: the extension at 0.106s succeeded, but c1 did not get the 20s that it asked for. The lock itself is at fault."},
		{"an extension by what was asked for", c1 + "0.1 c1 invoke extend c1#1\n0.104 n1 retime c1#1 key=lock until=10.104\n0.106 c1 ok extend c1#1 until=10.1\n10.104 n1 expire c1#1 key=lock\n" + later + write,
			checker.ResourceExclusion, "No assumption was broken: c1 worked longer than its lease lasted, and nothing renewed the lease in time."},
		{"an extension that overwrites the key of another", c1 + "10.004 n1 expire c1#1 key=lock\n" + later + "11.5 c1 invoke extend c1#1\n11.504 n1 over c1#1 was=c2#1 key=lock until=21.504\n11.506 c1 ok extend c1#1 until=21.5\n",
			checker.LeaseExclusion, "c1 extended c1#1 at 11.506s, after it had ended, until 21.500s by its own clock; to do so, it overwrote the key of c2#1 on n1."},
		{"an extension that overwrites what was no lease's", "nodes 3\n" + strings.Replace(c1, "0.006", "0.004 n2 set c1#1 key=lock until=10.004\n0.006", 1) +
			"10.004 n1 expire c1#1 key=lock\n10.004 n2 expire c1#1 key=lock\n11 c2 invoke acquire\n11.004 n2 set c2#1 key=lock until=21.004\n11.004 n3 set c2#1 key=lock until=21.004\n11.006 c2 ok acquire c2#1 until=21\n" +
			"11.5 c1 invoke extend c1#1\n11.504 n1 over c1#1 key=lock until=21.504\n11.506 c1 ok extend c1#1 until=21.5\n",
			checker.LeaseExclusion, "c1 extended c1#1 at 11.506s, after it had ended, until 21.500s by its own clock, though only n1 extended its key."},
		{"a renewal that sets the key again", c1 + "5 n1 expire c1#1 key=lock\n5.1 n1 set c1#1 key=lock until=15.1 by=c1\n5.2 c1 info renew c1#1 until=15\n6 n1 delete c1#1 key=lock by=c3\n" + strings.ReplaceAll(end, "6.0", "6.5"),
			checker.LeaseExclusion, "c1 set the key of c1#1 on n1 again at 5.100s; the key had been gone since 5.000s."},
		{"a key that a refused acquire deletes", c1 + "3 c1 invoke acquire\n3.1 n1 delete c1#1 key=lock by=c1 sent=3.05\n3.2 c1 fail acquire\n" + end,
			checker.LeaseExclusion, "c1 itself deleted the key of c1#1 on n1 at 3.100s, during an acquire."},
		{"a key that the release of another lease deletes", c1 + "3 c1 invoke release c1#7\n3.1 n1 delete c1#1 key=lock by=c1 sent=3.05\n3.2 c1 ok release c1#7\n",
			checker.NoLostVote, "c1 deleted its own key of c1#1 on n1 at 3.100s, in the release of c1#7."},
	} {
		h := handmade.History(t, c.story)
		v := found(h, c.property)
		if v.What == "" {
			t.Errorf("%s: there is no violation", c.name)
			continue
		}
		told := Story(facts.Of(h), v)
		if !slices.ContainsFunc(told, func(s Sentence) bool { return s.Text == c.want }) {
			t.Errorf("%s: told\n%v\nwithout %q", c.name, told, c.want)
		}
		checkExplanation(t, h, v, told)
	}
}

// TestUnanswered: whether the command that set a deadline with event 1 belongs to an extension that did not succeed.
func TestUnanswered(t *testing.T) {
	for _, test := range []struct {
		name, story, want string
	}{
		{"no answer", "0 c1 invoke extend c1#1\n1 n1 retime c1#1\n2 c1 info extend c1#1", "no answer"},
		{"no answer yet", "0 c1 invoke extend c1#1\n1 n1 retime c1#1", "no answer"},
		{"an error", "0 c1 invoke extend c1#1\n1 n1 retime c1#1\n2 c1 fail extend c1#1", "only an error"},
		{"it succeeded", "0 c1 invoke extend c1#1\n1 n1 retime c1#1\n2 c1 ok extend c1#1", ""},
		{"it is another operation", "0 c1 invoke write A\n1 n1 retime c1#1\n2 c1 info write A", ""},
		{"an extension by another", "0 c2 invoke extend c2#1\n1 n1 retime c1#1\n2 c2 info extend c2#1", ""},
	} {
		narrate(t, test.story, func(n *narrator) {
			if asked, got := n.unanswered(1); got != test.want || (asked == 0) != (test.want != "") {
				t.Errorf("%s: event %d, %q, want %q", test.name, asked, got, test.want)
			}
		})
	}
}
