package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// A datedKey is a history in which c2 takes over the key of c1, which contains the date of its end.
type datedKey struct {
	fault            string // before everything else
	asked, askedWall string // when c1 asked, and how far its wall clock was ahead then
	middle           string
	set              string // what n1 did for c1
	taken            string // what n1 did for c2
	op               string // of c2
	at, atWall       string // when c2 asked, and how far its wall clock was ahead then
	after            string
}

func (d datedKey) story() string {
	text := "{fault}\n{asked} c1 invoke acquire wall={askedWall}\n{middle}\n{set}\n0.2 c1 ok acquire c1#1 until=10 wall={askedWall}\n" +
		"{at} c2 invoke {op} wall={atWall}\n{taken}\n{after}"
	return strings.NewReplacer("{fault}", d.fault, "{asked}", d.asked, "{askedWall}", d.askedWall, "{middle}", d.middle, "{set}", d.set,
		"{at}", d.at, "{op}", d.op, "{atWall}", d.atWall, "{taken}", d.taken, "{after}", d.after).Replace(text)
}

const jumpAhead, jumpBack = "0 c2 fault jump jump_c2_+6s", "0 c1 fault jump jump_c1_-6s"

// TestHastenedByClients: the clocks of two clients explain a takeover if they differ by at least the rest of the lease, and if the key
// contains a date at all.
func TestHastenedByClients(t *testing.T) {
	ahead := datedKey{
		fault: jumpAhead, asked: "0", askedWall: "0", set: "0.1 n1 set c1#1 until=never", op: "acquire", at: "5", atWall: "6",
		taken: "5.1 n1 over c2#1 was=c1#1 until=never sent=5",
	}
	with := func(change func(d *datedKey)) datedKey {
		d := ahead
		change(&d)
		return d
	}
	for _, test := range []struct {
		name string
		datedKey
		fault int // -1 if the clocks do not explain it
	}{
		{"the client that read the date was ahead", ahead, 0},
		{"the client that made the date was behind", with(func(d *datedKey) { d.fault, d.askedWall, d.atWall = jumpBack, "-6", "0" }), 0},
		{"both were wrong, and neither enough by itself", with(func(d *datedKey) { d.fault, d.askedWall, d.atWall = jumpAhead+"\n"+jumpBack, "-2.5", "3" }), 0},
		{"both were wrong, the one that made the date by more", with(func(d *datedKey) { d.fault, d.askedWall, d.atWall = jumpAhead+"\n"+jumpBack, "-3", "2.5" }), 1},
		{"both were wrong alike", with(func(d *datedKey) { d.askedWall = "6" }), -1},
		{"by just enough", with(func(d *datedKey) { d.atWall = "5" }), 0},
		{"by too little", with(func(d *datedKey) { d.atWall = "4.999" }), -1},
		{"in the wrong direction", with(func(d *datedKey) { d.atWall = "-6" }), -1},
		{"the lease was over by right clocks", with(func(d *datedKey) { d.at, d.taken = "10", "10.1 n1 over c2#1 was=c1#1 sent=10" }), -1},
		{"the lease was nearly over", with(func(d *datedKey) { d.at, d.atWall, d.taken = "9.99", "0.01", "10.1 n1 over c2#1 was=c1#1 sent=9.99" }), 0},
		{"it had asked long before, and made the date later", with(func(d *datedKey) { d.asked, d.atWall = "-3", "4" }), -1},
		{"and made the date at most a twentieth of the TTL earlier", with(func(d *datedKey) { d.asked, d.atWall = "-3", "4.6" }), 0},
		{"it deleted the key first", with(func(d *datedKey) { d.taken = "5.1 n1 delete c1#1 by=c2 sent=5" }), 0},
		{"it re-timed the key", with(func(d *datedKey) { d.taken = "5.1 n1 retime c1#1 by=c2 sent=5\n5.1 n1 expire c1#1" }), -1},
		{"nobody took it over", with(func(d *datedKey) { d.taken = "" }), -1},
		{"a client that releases", with(func(d *datedKey) { d.op, d.taken = "release c2#1", "5.1 n1 delete c1#1 by=c2 sent=5" }), -1},
		{"a command from before its acquire", with(func(d *datedKey) { d.taken = "5.1 n1 over c2#1 was=c1#1 sent=4" }), -1},
		{"its owner itself", with(func(d *datedKey) {
			d.taken = "5 c1 fault jump jump_c1_+6s\n5 c1 invoke acquire wall=6\n5.1 n1 over c1#2 was=c1#1 until=never sent=5"
		}), -1},
		{"a key that expires after a TTL", with(func(d *datedKey) { d.set = "0.1 n1 set c1#1 until=10.1" }), -1},
		{"a key that is swept up later", with(func(d *datedKey) { d.set = "0.1 n1 set c1#1 until=20.1" }), 0},
		{"a key that another client set for it, as the next in a queue", with(func(d *datedKey) {
			d.set = "0.1 n1 set c3#1 until=never\n0.1 n1 over c1#1 was=c3#1 by=c3 until=never"
		}), -1},
		{"a longer lease than the TTL of the run", with(func(d *datedKey) {
			d.askedWall, d.at, d.atWall, d.taken = "0 ttl=30", "15", "16", "15.1 n1 over c2#1 was=c1#1 sent=15"
		}), 0},
		{"a longer lease, and a clock that is not far enough ahead", with(func(d *datedKey) {
			d.askedWall, d.at, d.atWall, d.taken = "0 ttl=30", "15", "14", "15.1 n1 over c2#1 was=c1#1 sent=15"
		}), -1},
		{"a shorter lease that was over", with(func(d *datedKey) { d.askedWall = "0 ttl=4" }), -1},
		{"a run without a TTL", with(func(d *datedKey) { d.fault = "ttl 0\n" + d.fault }), -1},
		{"a jump while it asked, before it sent the date",
			with(func(d *datedKey) {
				d.fault, d.askedWall, d.atWall, d.middle = "", "0", "0", "0.05 c1 fault jump jump_c1_-6s"
			}).returned("-6"), 1},
		{"a jump after it sent the date",
			with(func(d *datedKey) {
				d.fault, d.askedWall, d.atWall, d.middle = "", "0", "0", "0.15 c1 fault jump jump_c1_-6s"
			}).late().returned("-6"), -1},
		{"a jump back after it had taken the key", with(func(d *datedKey) { d.after = "6 c2 fault jump jump_c2_-6s\n7 c2 ok acquire c2#1 until=15" }), 0},
		{"a jump ahead after it had sent its request", with(func(d *datedKey) {
			d.atWall, d.after = "0", "5.2 c2 fault jump jump_c2_+6s\n7 c2 ok acquire c2#1 until=15 wall=6"
		}), -1},
	} {
		h := handmade.History(t, test.story())
		ix := &index{Facts: facts.Of(h)}
		if got := ix.hastenedByClients(ix.Lives[ix.LivesOf["c1#1"][0]]); got != test.fault {
			t.Errorf("%s: fault %d, want %d, in\n%s", test.name, got, test.fault, test.story())
		}
	}
}

// TestHastenedByNode: the clock of a node explains a takeover if it was set forward after the key was set there, or on the node from which it
// was copied.
func TestHastenedByNode(t *testing.T) {
	const (
		n1, n1Ahead = "0.1 n1 set c1#1 until=never\n", "0.1 n1 set c1#1 until=never wall=6\n"
		n2          = "0.1 n2 set c1#1 until=never\n"
		r1          = "0.2 r1 set c1#1 until=never by=n1 wall=6\n1 r1 promote\n"
		alive       = "0.2 c1 ok acquire c1#1 until=10\n2 c1 invoke extend c1#1 ttl=TTL\n2.1 n1 deliver c1 sent=2 word=EVAL\n2.2 c1 ok extend c1#1 until=9\n"
		again       = "2 c1 invoke extend c1#1 ttl=TTL\n2.1 n1 over c1#1 was=c1#1 until=never\n"
		acquire     = "5 c2 invoke acquire\n"
		taken       = acquire + "5.1 n1 over c2#1 was=c1#1 until=never sent=5 wall=6"
		takenThere  = acquire + "5.1 r1 over c2#1 was=c1#1 until=never sent=5 wall=6"
	)
	for _, test := range []struct {
		name, story string
		want        bool
	}{
		{"it was set forward", n1 + taken, true},
		{"it was ahead all the time", n1Ahead + taken, false},
		{"it was ahead all the time, and that of another node was right", n2 + n1Ahead + taken, false},
		{"that of the copy is ahead of that of the original", n1 + r1 + takenThere, true},
		{"both are ahead", n1Ahead + r1 + takenThere, false},
		{"it was set forward, by less than an extension asked for", n1 + strings.ReplaceAll(again, "TTL", "20") + taken, false},
		{"it was set forward, by more than an extension asked for", n1 + strings.ReplaceAll(again, "TTL", "8") + taken, true},
		{"it was set forward, by less than an extension asked for that changed another key", n1 + strings.ReplaceAll(alive, "TTL", "20") + taken, false},
		{"it was set forward, by more than an extension asked for that changed another key", n1 + strings.ReplaceAll(alive, "TTL", "7") + taken, true},
		{"the lease would be over without that extension", n1 + strings.ReplaceAll(alive, "TTL", "10") + "11 c2 invoke acquire\n11.1 n1 over c2#1 was=c1#1 until=never sent=11 wall=6", true},
		{"it was set forward, by less than a renewal lasts that changed another key", n1 + "0.2 c1 ok acquire c1#1 until=10\n4 n1 deliver c1 sent=3.9 word=EVAL\n4.1 c1 info renew c1#1 until=13.9\n" + taken, false},
		{"that of the copy is ahead, by less than an extension asked for that changed another key", n1 + "0.2 r1 set c1#1 until=never by=n1 wall=6\n0.3 c1 ok acquire c1#1 until=10\n" +
			"0.4 c1 invoke extend c1#1 ttl=20\n0.5 n1 deliver c1 sent=0.4 word=EVAL\n0.6 c1 ok extend c1#1 until=20.4\n1 r1 promote\n" + takenThere, false},
		{"an extension was asked for before there was a copy", n1 + "0.15 c1 invoke extend c1#1 ttl=20\n" + r1 + takenThere, true},
		{"the key was asked for at an unknown time", strings.Replace(n1, "set c1#1", "set c1#1 sent=-1", 1) + taken, true},
		{"both are ahead, and that of another node was right", n2 + n1Ahead + r1 + takenThere, false},
	} {
		ix := &index{Facts: facts.Of(handmade.History(t, "nodes 2\nreplica r1\n0 c1 invoke acquire\n"+test.story))}
		lives := ix.LivesOf["c1#1"]
		if got := ix.hastenedByNode(ix.Lives[lives[len(lives)-1]]); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// returned changes how far the wall clock of c1 is ahead when its acquire returns.
func (d datedKey) returned(wall string) datedKey {
	d.set += fmt.Sprintf("\n0.19 c1 info check wall=%s", wall)
	return d
}

// late moves what comes in the middle behind the setting of the key.
func (d datedKey) late() datedKey {
	d.set, d.middle = d.set+"\n"+d.middle, ""
	return d
}

// TestHastened: what follows from a takeover by wrong clocks is blamed on them, and on the lock if they do not explain it.
func TestHastened(t *testing.T) {
	const (
		overlap = "c2 held c2#1 from 5.200s to 15.000s, while c1 held c1#1 from 0.200s to 10.000s"
		wrote   = "c1 wrote A under c1#1 at 6.100s, after c2 was granted c2#1 at 5.100s"
		touched = "c2 overwrote the key of c1#1 on n1 at 5.100s"
	)
	story := func(fault, then, now, nodeThen, nodeNow string) string {
		return strings.NewReplacer("{fault}", fault, "{then}", then, "{now}", now, "{nodeThen}", nodeThen, "{nodeNow}", nodeNow).Replace(`
			0    {fault}
			0    c1 invoke acquire wall={then}
			0.1  n1 set c1#1 until=never wall={nodeThen}
			0.2  c1 ok acquire c1#1 until=10 wall={then}
			5    c2 invoke acquire wall={now}
			5.1  n1 over c2#1 was=c1#1 until=never wall={nodeNow}
			5.2  c2 ok acquire c2#1 until=15 wall={now}
			6    c1 invoke write A c1#1 wall={then}
			6.1  resource accept A c1#1 sent=6
			6.2  c1 ok write A c1#1 wall={then}`)
	}
	for _, test := range []struct{ name, story, all, touched string }{
		{"the clock of the node", story("n1 fault jump jump_n1_+6s", "0", "0", "0", "6"), "bounded clock error", ""},
		{"the clock of the node, by too little", story("n1 fault jump jump_n1_+4s", "0", "0", "0", "4"), "none", "none"},
		{"the clock of the node, all the time", story("n1 fault jump jump_n1_+6s", "0", "0", "6", "6"), "none", "none"},
		{"the clock of the newer client", story("c2 fault jump jump_c2_+6s", "0", "6", "0", "0"), "bounded clock error", "bounded clock error"},
		{"the clock of the newer client, by too little", story("c2 fault jump jump_c2_+4s", "0", "4", "0", "0"), "none", "none"},
		{"the clock of the older client", story("c1 fault jump jump_c1_-6s", "-6", "0", "0", "0"), "bounded clock error", "bounded clock error"},
		{"the clock of the older client, by too little", story("c1 fault jump jump_c1_-4s", "-4", "0", "0", "0"), "none", "none"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			blamed := func(what, on string) []string {
				if on == "" {
					return nil
				}
				return []string{fmt.Sprintf("%s [%s]", what, on)}
			}
			got := map[Property][]string{}
			h := handmade.History(t, test.story)
			for _, v := range Check(facts.Of(h), nil).Violations {
				got[v.Property] = append(got[v.Property], fmt.Sprintf("%s [%s]", v.What, v.Assumption))
				checkProof(t, h, v)
			}
			for p, want := range map[Property][]string{
				LeaseExclusion: blamed(overlap, test.all), ResourceExclusion: blamed(wrote, test.all), OwnerOnly: blamed(touched, test.touched),
			} {
				if fmt.Sprint(got[p]) != fmt.Sprint(want) {
					t.Errorf("%s: %q, want %q", p, got[p], want)
				}
			}
		})
	}
}

// TestWallAt: the wall clock of a client is known from its operations; after a fault, the first event shows it.
func TestWallAt(t *testing.T) {
	ix := &index{Facts: facts.Of(handmade.History(t, `
		1 c1 invoke acquire wall=1
		2 c2 invoke acquire wall=9
		3 c1 fault jump jump_c1_+1s wall=1
		5 c1 fail acquire wall=2
		6 c1 fault jump jump_c1_+1s wall=2
		7 c1 invoke acquire wall=3
	`))}
	for at, want := range map[int]time.Duration{0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 3, 7: 3, 8: 3} {
		if got := ix.wallAt("c1", time.Duration(at)*time.Second); got != want*time.Second {
			t.Errorf("at %ds: %v, want %ds", at, got, want)
		}
	}
}
