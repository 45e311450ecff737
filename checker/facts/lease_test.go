package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

func TestLeases(t *testing.T) {
	h := handmade.History(t, `
		nodes 3
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n2 set c1#1
		0.1  n3 set c1#1
		0.2  c1 ok acquire c1#1 until=9
		3    c1 invoke release c1#1
		4    c2 invoke acquire
		5    c2 ok acquire c2#1 until=10
		6    c2 fault crash
		7    c1 ok release c1#1
		8    c1 invoke acquire
		8.5  c1 ok acquire c1#2 until=12
		9    c3 invoke acquire
		10   c3 ok acquire c3#1 until=5
		12   c4 invoke acquire
		12.1 c4 ok acquire c4#1 until=never
		13   c5 invoke acquire
		13.1 c5 ok acquire c5#1 until=20
		13.2 c6 invoke acquire
		13.3 c6 ok acquire c6#1 until=20
		14   c5 invoke release c5#1
		14   c5 info exit
		15   c6 info exit
	`)
	s := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	want := []Lease{
		{Client: "c1", Label: "c1#1", ID: 1, Invoked: 0, Granted: s(0.1), From: s(0.2), To: s(3), End: s(9), GrantSeen: true, Ended: Released,
			InvokeEvent: 0, GrantEvent: 2, ReturnEvent: 4, EndEvent: 5},
		{Client: "c2", Label: "c2#1", ID: 1, Invoked: s(4), Granted: s(5), From: s(5), To: s(6), End: s(10), Ended: Crashed,
			InvokeEvent: 6, GrantEvent: 7, ReturnEvent: 7, EndEvent: 8},
		{Client: "c1", Label: "c1#2", ID: 3, Invoked: s(8), Granted: s(8.5), From: s(8.5), To: s(12), End: s(12), Ended: LeaseEnded,
			InvokeEvent: 10, GrantEvent: 11, ReturnEvent: 11, EndEvent: -1},
		{Client: "c3", Label: "c3#1", ID: 1, Invoked: s(9), Granted: s(10), From: s(10), To: s(10), End: s(9), Ended: LeaseEnded,
			InvokeEvent: 12, GrantEvent: 13, ReturnEvent: 13, EndEvent: -1},
		{Client: "c4", Label: "c4#1", ID: 1, Invoked: s(12), Granted: s(12.1), From: s(12.1), To: s(22.1), End: s(22.1), Endless: true, Ended: RunEnded,
			InvokeEvent: 14, GrantEvent: 15, ReturnEvent: 15, EndEvent: -1},
		{Client: "c5", Label: "c5#1", ID: 1, Invoked: s(13), Granted: s(13.1), From: s(13.1), To: s(14), End: s(20), Ended: Released,
			InvokeEvent: 16, GrantEvent: 17, ReturnEvent: 17, EndEvent: 20},
		{Client: "c6", Label: "c6#1", ID: 1, Invoked: s(13.2), Granted: s(13.3), From: s(13.3), To: s(15), End: s(20), Ended: Exited,
			InvokeEvent: 18, GrantEvent: 19, ReturnEvent: 19, EndEvent: 22},
	}
	got := Of(h).Holds
	for i := range want {
		want[i].Lock = "stock"
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("lease %d:\ngot  %+v\nwant %+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d leases, want %d", len(got), len(want))
	}
}

// If two clients drew the same token, it is named after the first client, but the second client's key counts for its own lease.
func TestLeaseWithTheTokenOfAnother(t *testing.T) {
	leases := Of(handmade.History(t, `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
		10.1 n1 expire c1#1
		11   c2 invoke acquire
		12   n1 set c1#1 by=c2
		12.1 c2 ok acquire c2#1 until=22`)).Holds
	if l := leases[1]; !l.GrantSeen || l.GrantEvent != 5 {
		t.Errorf("granted by event %d, seen: %v", l.GrantEvent, l.GrantSeen)
	}
}

// The token is the same for all attempts of an acquire. A majority that the client has given back is not the grant.
func TestGrantOfAnEarlierAttempt(t *testing.T) {
	const first = "nodes 3\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 n2 set c1#1\n"
	const last = "\n9 c1 ok acquire c1#1 until=19"
	for _, c := range []struct {
		name, story string
		seen        bool
	}{
		{"one attempt", first + "0.3 n3 set c1#1", true},
		{"a node comes back empty, and has the key again, without a new majority", first + "0.3 n3 set c1#1\n2 n3 lose c1#1\n3 n3 set c1#1", true},
		{"given back, and granted again", first + "1 n1 delete c1#1 by=c1\n1 n2 delete c1#1 by=c1\n8 n1 set c1#1\n8.1 n2 set c1#1\n8.2 n3 set c1#1", true},
		{"given back on one node, and set there anew by the next attempt", first + "1 n1 delete c1#1 by=c1\n7 n3 set c1#1\n7.5 n3 delete c1#1 by=c1\n8 n3 set c1#1", true},
		{"given back on one node, and set there anew, while another keeps the key", first + "0.3 n3 set c1#1\n1 n1 delete c1#1 by=c1\n8 n1 set c1#1", false},
		{"expired on one node, and set there anew, while others keep the key", first + "0.3 n3 set c1#1\n7 n1 expire c1#1\n8 n1 set c1#1", false},
		{"given back on one node, and set there anew after all, while others keep the key", first + "0.3 n3 set c1#1\n1 n1 delete c1#1 by=c1" + last + "\n9.1 n1 set c1#1", true},
		{"set once more over its own key", first + "0.3 n3 set c1#1\n1 n1 over c1#1 was=c1#1", true},
		{"deleted by another, and set there anew", first + "0.3 n3 set c1#1\n7 n1 delete c1#1 by=c2\n8 n1 set c1#1", true},
	} {
		if !strings.Contains(c.story, last) {
			c.story += last
		}
		if l := Of(handmade.History(t, c.story)).Lease("c1#1"); l.GrantSeen != c.seen {
			t.Errorf("%s: the grant is seen: %v", c.name, l.GrantSeen)
		}
	}
}

// Each wanted result gives the holds of c1#1, in seconds, and why each ended.
func TestLeasesExtended(t *testing.T) {
	const c1 = "0 c1 invoke acquire\n1 c1 ok acquire c1#1 until=10\n"
	for _, c := range []struct{ name, story, want string }{
		{"not at all", c1, "1-10 lease ended"},
		{"in time", c1 + "5 c1 invoke extend c1#1\n6 c1 ok extend c1#1 until=15", "1-15 lease ended"},
		{"twice", c1 + "6 c1 info renew c1#1 until=15\n14 c1 info renew c1#1 until=24", "1-24 lease ended"},
		{"at its end", c1 + "9 c1 invoke extend c1#1\n10 c1 ok extend c1#1 until=15", "1-10 lease ended, 10-15 lease ended"},
		{"after its end", c1 + "9 c1 invoke extend c1#1\n12 c1 ok extend c1#1 until=15", "1-10 lease ended, 12-15 lease ended"},
		{"after its end, twice", c1 + "12 c1 info renew c1#1 until=15\n14 c1 info renew c1#1 until=18", "1-10 lease ended, 12-18 lease ended"},
		{"without an end", c1 + "6 c1 info renew c1#1 until=never", "1-16 lease ended"},
		{"made shorter", c1 + "6 c1 info renew c1#1 until=8", "1-8 lease ended"},
		{"made shorter than it was", c1 + "6 c1 info renew c1#1 until=5", "1-6 lease ended"},
		{"in vain", c1 + "6 c1 invoke extend c1#1\n7 c1 fail extend c1#1", "1-10 lease ended"},
		{"nobody knows", c1 + "6 c1 invoke extend c1#1\n7 c1 info extend c1#1", "1-10 lease ended"},
		{"nobody knows, and shorter", c1 + "2 c1 invoke extend c1#1 ttl=3\n4 c1 info extend c1#1", "1-10 lease ended"},
		{"nobody knows, and its lock assumes the earlier end", c1 + "2 c1 invoke extend c1#1 ttl=3\n4 c1 info extend c1#1 until=5", "1-5 lease ended"},
		{"refused, and its lock assumes the earlier end", c1 + "2 c1 invoke extend c1#1 ttl=3\n4 c1 fail extend c1#1 until=5", "1-5 lease ended"},
		{"nobody knows, and its lock assumes the later end", c1 + "2 c1 invoke extend c1#1 ttl=20\n4 c1 info extend c1#1 until=22", "1-22 lease ended"},
		{"unanswered beyond the new end", c1 + "2 c1 invoke extend c1#1 ttl=3\n7 c1 info extend c1#1", "1-5 lease ended, 7-10 lease ended"},
		{"unanswered beyond the new end, which its lock assumes", c1 + "2 c1 invoke extend c1#1 ttl=3\n7 c1 info extend c1#1 until=5", "1-5 lease ended"},
		{"unanswered beyond both ends", c1 + "2 c1 invoke extend c1#1 ttl=3\n11 c1 info extend c1#1", "1-5 lease ended"},
		{"never answered", c1 + "2 c1 invoke extend c1#1 ttl=3", "1-5 lease ended"},
		{"unanswered, and renewed", c1 + "2 c1 invoke extend c1#1 ttl=3\n3 c1 info renew c1#1 until=13\n4 c1 info extend c1#1", "1-13 lease ended"},
		{"unanswered at a crash", c1 + "2 c1 invoke extend c1#1 ttl=3\n4 c1 fault crash", "1-4 crashed"},
		{"by another", c1 + "6 c2 info renew c1#1 until=15", "1-10 lease ended"},
		{"another lease", c1 + "6 c1 info renew c1#2 until=15", "1-10 lease ended"},
		{"after the release", c1 + "5 c1 invoke release c1#1\n6 c1 info renew c1#1 until=15", "1-5 released"},
		{"after a crash", c1 + "5 c1 fault crash\n6 c1 info renew c1#1 until=15", "1-5 crashed"},
		{"lost", c1 + "5 c1 info lost c1#1", "1-5 lease lost"},
		{"lost, and renewed", c1 + "5 c1 info lost c1#1\n6 c1 info renew c1#1 until=15", "1-5 lease lost"},
		{"lost, and extended", c1 + "5 c1 info lost c1#1\n6 c1 invoke extend c1#1\n6 c1 ok extend c1#1 until=15", "1-5 lease lost, 6-15 lease ended"},
		{"lost after its end, and renewed", c1 + "11 c1 info lost c1#1\n12 c1 info renew c1#1 until=15", "1-10 lease ended"},
		{"lost at its end", c1 + "10 c1 info lost c1#1", "1-10 lease lost"},
		{"lost twice", c1 + "5 c1 info lost c1#1\n6 c1 info lost c1#1", "1-5 lease lost"},
		{"and released", c1 + "6 c1 info renew c1#1 until=15\n12 c1 invoke release c1#1", "1-12 released"},
		{"too late, and released", c1 + "12 c1 info renew c1#1 until=15\n13 c1 invoke release c1#1", "1-10 lease ended, 12-13 released"},
		{"by a clock that runs fast from then on", c1 + "2 c1 fault drift ppm=1000000\n4 c1 info renew c1#1 until=14 clock=6\n30 c1 info exit clock=58", "1-8 lease ended"},
	} {
		var holds []string
		for _, l := range Of(handmade.History(t, c.story+"\n40 c9 info exit")).Holds {
			if l.Client == "c1" && l.Label == "c1#1" {
				holds = append(holds, fmt.Sprintf("%v-%v %s", l.From.Seconds(), l.To.Seconds(), l.Ended))
			}
		}
		if got := strings.Join(holds, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestKeysOver: a lease without an end ends when the last of its keys expires.
func TestKeysOver(t *testing.T) {
	const c1 = "1 n1 set c1#1\n1 n2 set c1#1\n"
	for text, want := range map[string]time.Duration{
		c1 + "5 n1 expire c1#1\n6 n2 lose c1#1":   6 * time.Second,
		c1 + "5 n2 expire c1#1\n6 n1 expire c1#1": 6 * time.Second,
		c1 + "5 n1 expire c1#1":                   history.NoEnd,
		c1 + "5 n1 expire c1#1\n6 n2 delete c1#1": history.NoEnd,
	} {
		if got := Of(handmade.History(t, "nodes 3\n"+text+"\n9 c1 info exit")).keysOver("c1#1"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestLasting: a lease has no end if its client has set a majority of its keys without one by then.
func TestLasting(t *testing.T) {
	for text, want := range map[string]bool{
		"1 n1 set c1#1 until=never\n1 n2 set c1#1 until=never\n2 c1 ok acquire c1#1 -\n3 n3 set c1#1 until=9": true,
		"1 n1 set c1#1 until=never\n1 n2 set c1#1 until=9\n2 c1 ok acquire c1#1 -\n3 n3 set c1#1 until=never": false,
		"replica r1\n1 n1 set c1#1 until=never\n1 r1 set c1#1 until=never by=n1\n2 c1 ok acquire c1#1 -":      false,
		"1 n1 set c2#1 until=never\n1 n2 set c2#1 until=never\n2 c1 ok acquire c1#1 -":                        false,
		"1 n1 set c1#1 until=never\n1 n1 delete c1#1\n2 n1 set c1#1 until=never\n2 c1 ok acquire c1#1 -":      false,
	} {
		h := handmade.History(t, "nodes 3\n"+text)
		outcome := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.OK })
		if got := Of(h).lasting("c1#1", outcome); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
