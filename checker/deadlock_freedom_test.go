package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

func TestDeadlockFreedom(t *testing.T) {
	const probe = `
		probe probe
		bound 5
		0    c1 invoke acquire
		0.1  n1 set c1#1 until=never
		0.2  c1 ok acquire c1#1 until=9
		1    c1 fault crash
		20   probe invoke acquire
	`
	const held = `
		probe probe
		bound 5
		10   c1 invoke acquire
		10.1 n1 set c1#1 until=never
		10.2 c1 ok acquire c1#1 until=24
	`
	const lasting = `
		probe probe
		bound 4
		0.1  c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=9
		1    c1 fault crash
		11   probe invoke acquire
	`
	const dated = `
		probe probe
		bound 4
		0    c1 invoke acquire wall=12
		0.1  n1 set c1#1 until=22.1
		0.2  c1 ok acquire c1#1 until=10 wall=12
		1    c1 fault crash
		11   probe invoke acquire
		15   probe fail acquire
		22.1 n1 expire c1#1
	`
	testProperty(t, DeadlockFreedom, []verdictCase{
		{name: "a deadline by the clock of its client, which was ahead", story: dated, want: []string{"probe asked for the lock at 11.000s and never got it [bounded clock error]"}},
		{name: "a deadline by the clock of its client, which was less ahead", story: strings.ReplaceAll(dated, "wall=12", "wall=11"), want: []string{"probe asked for the lock at 11.000s and never got it [none]"}},
		{name: "at once", story: probe + "20.1 probe ok acquire probe#1 until=30"},
		{name: "at the bound", story: probe + "25 probe ok acquire probe#1 until=35"},
		{name: "what it does before it asks does not count", story: "0 probe invoke read\n0 probe ok read\n" + probe + "25 probe ok acquire probe#1 until=35"},
		{name: "a nanosecond after the bound", story: probe + "25.000000001 probe ok acquire probe#1 until=35",
			want: []string{"probe asked for the lock at 20.000s and got it only at 25.000s, where 5.000s were allowed [none]"}},
		{name: "long after the bound", story: probe + "40 probe ok acquire probe#1 until=50",
			want: []string{"probe asked for the lock at 20.000s and got it only at 40.000s, where 5.000s were allowed [none]"}},
		{name: "no answer", story: probe,
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "a refusal", story: probe + "20.1 probe fail acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "an unknown outcome", story: probe + "20.1 probe info acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "another client does not count", story: probe + "21 c2 invoke acquire\n22 c2 ok acquire c2#1 until=30",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "too late and once more", story: probe + "40 probe ok acquire probe#1 until=50\n50 probe invoke acquire\n51 probe ok acquire probe#2 until=60",
			want: []string{"probe asked for the lock at 20.000s and got it only at 40.000s, where 5.000s were allowed [none]"}},
		{name: "at the second try", story: probe + "20.1 probe fail acquire\n24 probe invoke acquire\n24.9 probe ok acquire probe#1 until=34"},
		{name: "at the second try, too late", story: probe + "20.1 probe fail acquire\n24 probe invoke acquire\n25.1 probe ok acquire probe#1 until=34",
			want: []string{"probe asked for the lock at 20.000s and got it only at 25.100s, where 5.000s were allowed [none]"}},
		{name: "without a bound", story: strings.Replace(probe, "bound 5", "bound 0", 1) + "999 probe ok acquire probe#1 until=1000"},
		{name: "somebody held it for a while", story: held + "20 probe invoke acquire\n21 c1 invoke release c1#1\n25.2 probe fail acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "somebody thinks that he holds it, and has released it", story: held + "19 c1 invoke release c1#1\n20 probe invoke acquire\n20.5 c1 info renew c1#1 until=30\n25.2 probe fail acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "somebody held it to the end of his lease", story: held + "20 probe invoke acquire\n25.2 probe fail acquire\n28 x info exit",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "somebody holds another lock", story: strings.ReplaceAll(held, "acquire", "acquire lock=b") + "15 c1 info renew c1#1 until=60\n20 probe invoke acquire\n25.2 probe fail acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "the clock of the node keeps a key", story: lasting + "15 n1 expire c1#1\n15.1 probe ok acquire probe#1 until=25",
			want: []string{"probe asked for the lock at 11.000s and got it only at 15.100s, where 4.000s were allowed [bounded clock error]"}},
		{name: "the clock of the node keeps a key to the end", story: lasting + "15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [bounded clock error]"}},
		{name: "the clock of the node keeps a key for a little less", story: lasting + "12.999999999 n1 expire c1#1\n15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [none]"}},
		{name: "the clock of the node keeps a key for half of the time", story: lasting + "13 n1 expire c1#1\n15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [bounded clock error]"}},
		{name: "another key would have been there all the same", story: strings.Replace(lasting, "4", "8", 1) + "12 n1 over c2#1 was=c1#1\n19 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [none]"}},
		{name: "the key had been given more time", story: strings.Replace(lasting, "11   probe", "10 n1 retime c1#1\n11 probe", 1) + "15 n1 expire c1#1\n15.1 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [none]"}},
		{name: "the clock of one node of three does not matter", story: "nodes 3\n" + lasting + "15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [none]"}},
		{name: "the clocks of two nodes of three do", story: "nodes 3\n0.1 n2 set c1#1\n" + lasting + "15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [bounded clock error]"}},
		{name: "that of the one that matters does", story: "nodes 3\n0.1 n2 set c2#1 until=never\n" + lasting + "15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [bounded clock error]"}},
		{name: "two keys without an end outweigh a clock", story: "nodes 3\n0.1 n2 set c2#1 until=never\n0.1 n3 set c2#1 until=never\n" + lasting + "15 probe fail acquire",
			want: []string{"probe asked for the lock at 11.000s and never got it [none]"}},
		{name: "the first lease counts", story: probe + "21 probe ok acquire probe#1 until=22\n30 probe invoke acquire\n40 probe ok acquire probe#2 until=50"},
	})
}

// If others rightfully hold the lock the whole time, the probe must be refused, and deadlock freedom is unknown.
func TestDeadlockFreedomUnknown(t *testing.T) {
	const (
		head = "probe probe\nbound 5\n0 c1 invoke acquire\n0.1 n1 set c1#1\n"
		asks = "20 probe invoke acquire\n25.2 probe fail acquire\n"
	)
	for _, c := range []struct{ name, story, who string }{
		{"one who renews", head + "0.2 c1 ok acquire c1#1 until=10\n9 c1 info renew c1#1 until=19\n18 c1 info renew c1#1 until=28\n" + asks, "c1"},
		{"one who renews while it asks", head + "0.2 c1 ok acquire c1#1 until=21\n20 probe invoke acquire\n20.5 c1 info renew c1#1 until=31\n25.2 probe fail acquire", "c1"},
		{"one who has a lease without an end", head + "0.2 c1 ok acquire c1#1 until=never\n" + asks, "c1"},
		{"one after the other", head + "0.2 c1 ok acquire c1#1 until=22\n20 probe invoke acquire\n21.8 c2 invoke acquire\n21.9 c2 ok acquire c2#1 until=40\n25.2 probe fail acquire", "c1 and c2"},
		{"one who gives it back after the bound", head + "0.2 c1 ok acquire c1#1 until=60\n20 probe invoke acquire\n25.1 c1 invoke release c1#1\n25.2 probe ok acquire probe#1 until=35", "c1"},
		{"one who holds it to the end of the run", head + "0.2 c1 ok acquire c1#1 until=60\n20 probe invoke acquire\n21 probe fail acquire", "c1"},
	} {
		r := Check(facts.Of(handmade.History(t, c.story)), nil)
		want := "deadlock freedom: " + c.who + " held the lock the whole time that probe asked for it"
		if s := r.Status(DeadlockFreedom); s != Unknown || !slices.Contains(r.Unmet, want) && len(r.Violations) == 0 {
			t.Errorf("%s: %s, unmet %q; want %q", c.name, s, r.Unmet, want)
		}
	}
	for _, gone := range []string{"3 c1 fault crash", "3 c1 info exit", "3 c1 info lost c1#1", "3 c1 invoke release c1#1"} {
		if s := Check(facts.Of(handmade.History(t, head+"0.2 c1 ok acquire c1#1 until=never\n"+gone+"\n"+asks)), nil).Status(DeadlockFreedom); s != Violated {
			t.Errorf("%s: %s", gone, s)
		}
	}
}

// A client of the run that asks when a TTL has passed since the last fault has to get the lock within half a TTL. The TTL is 10 s.
func TestStuck(t *testing.T) {
	const asked = "c1 asked for the lock, and from "
	since := func(from, to, fault string) []string {
		return []string{asked + from + " to " + to + " nobody got it, though nobody held it and " + fault + " [none]"}
	}
	ask := func(from, to float64) string { return tries("c1", from, to) }
	for _, c := range []struct {
		name, story string
		want        []string
	}{
		{"within the limit", "1 c2 fault crash\n" + ask(2, 16), nil},
		{"a little longer", "1 c2 fault crash\n" + ask(2, 16.1), since("2.000s", "16.100s", "the last fault was over at 1.000s")},
		{"without a fault", ask(2, 17.1), since("2.000s", "17.100s", "there was no fault")},
		{"that long after the start", ask(2, 15), nil},
		{"long after the fault", "1 c2 fault crash\n" + ask(40, 45.1), since("40.000s", "45.100s", "the last fault was over at 1.000s")},
		{"not for long enough", "1 c2 fault crash\n" + ask(40, 45), nil},
		{"a fault while it asks", "30 c2 fault crash\n" + ask(20, 45), nil},
		{"another client gets it", "1 c2 fault crash\n" + ask(40, 46) + "44 c2 invoke acquire\n44.1 n1 set c2#1\n44.2 c2 ok acquire c2#1 until=54\n", nil},
		{"a node was down", "1 n1 fault crash\n20 n1 fault restart\n" + ask(2, 35), nil},
		{"and that was long ago", "1 n1 fault crash\n20 n1 fault restart\n" + ask(2, 35.1), since("2.000s", "35.100s", "the last fault was over at 20.000s")},
		{"one node of three stays down", "nodes 3\n1 n1 fault crash\n" + ask(2, 60), nil},
		{"a client stays paused", "1 c2 fault pause\n" + ask(2, 60), nil},
		{"a client was paused", "1 c2 fault pause\n20 c2 fault resume\n" + ask(2, 35.1), since("2.000s", "35.100s", "the last fault was over at 20.000s")},
		{"a link stays cut", "1 c2-n1 fault cut cut_c2-n1\n" + ask(2, 60), nil},
		{"a link was cut", "1 c2-n1 fault cut cut_c2-n1\n20 c2-n1 fault heal heal_c2-n1\n" + ask(2, 35.1), since("2.000s", "35.100s", "the last fault was over at 20.000s")},
		{"a link stays slow", "1 c2-n1 fault delay delay_c2-n1_1ms\n" + ask(2, 60), nil},
		{"with a short TTL: a back-off of some seconds", "ttl 2\n1 c2 fault crash\n" + ask(10, 15), nil},
		{"with a short TTL: a longer one", "ttl 2\n1 c2 fault crash\n" + ask(10, 15.1), since("10.000s", "15.100s", "the last fault was over at 1.000s")},
		{"its client has not given back its last lease", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n10.1 n1 expire c1#1\n" + ask(20, 60), nil},
		{"its client has", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n1 c1 invoke release c1#1\n1.1 n1 delete c1#1\n1.2 c1 info release c1#1\n" + ask(20, 60), since("20.000s", "60.000s", "there was no fault")},
		{"a clock drifts", "1 c1 fault drift ppm=1000\n" + ask(2, 60), nil},
		{"a clock drifted", "1 c1 fault drift ppm=1000\n20 c1 fault drift ppm=0\n" + ask(2, 35.1), since("2.000s", "35.100s", "the last fault was over at 20.000s")},
		{"a message was late", ask(2, 35) + "20 c2 deliver n1 sent=1 word=SET\n", nil},
		{"a message was lost", ask(2, 35) + "20 c2 drop n1 sent=19.9 word=SET\n", nil},
		{"a message is kept back", "1 n1->c2 bite on_reply_release_n1->c2_hold\n" + ask(2, 60), nil},
		{"the key of a client that died", "0 c2 invoke acquire\n0.1 n1 set c2#1\n0.2 c2 ok acquire c2#1 until=10\n1 c2 fault crash\n10.1 n1 expire c2#1\n" + ask(2, 10.2), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := handmade.History(t, inOrder(t, c.story))
			var got []string
			for _, v := range Check(facts.Of(h), nil).Violations {
				if v.Property == DeadlockFreedom {
					got = append(got, v.What+" ["+string(v.Assumption)+"]")
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// A client that asks from time to time may ask again just before the keys expire. That lengthens the first limit, but not that of a client
// that asks later.
func TestStuckWithAPace(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		stuck    bool
	}{{2, 18.5, false}, {2, 18.6, true}, {40, 45, false}, {40, 45.1, true}} {
		h := handmade.History(t, inOrder(t, "1 c2 fault drift ppm=0\n"+tries("c1", c.from, c.to)))
		h.Meta.Pace = 2500 * time.Millisecond
		if stuck := len((&index{Facts: facts.Of(h)}).stuck()) > 0; stuck != c.stuck {
			t.Errorf("from %v to %v: %v", c.from, c.to, stuck)
		}
	}
}

// A release or an extension that never returns, although nothing delays it, violates deadlock freedom.
func TestHanging(t *testing.T) {
	const head = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
	for _, c := range []struct {
		name, story string
		want        []string
	}{
		{"a release", head + "1 c1 invoke release c1#1\n90 n1 expire c1#1", []string{"c1 called release at 1.000s and the call never returned, though after 1.000s there was no fault and no message to or from c1"}},
		{"an extension that sent something", head + "1 c1 invoke extend c1#1\n2 n1 deliver c1 sent=1.5 word=EVAL\n90 n1 expire c1#1", []string{"c1 called extend at 1.000s and the call never returned, though after 2.000s there was no fault and no message to or from c1"}},
		{"it went on until the end", head + "1 c1 invoke release c1#1\n89 n1 deliver c1 sent=88.9 word=EVAL\n90 n1 expire c1#1", nil},
		{"it returned", head + "1 c1 invoke release c1#1\n90 c1 ok release c1#1", nil},
		{"an acquire may wait", head + "1 c2 invoke acquire\n90 n1 expire c1#1", nil},
		{"its client died", head + "1 c1 invoke release c1#1\n2 c1 fault crash\n90 n1 expire c1#1", nil},
		{"its client is paused", head + "1 c1 invoke release c1#1\n2 c1 fault pause\n90 n1 expire c1#1", nil},
		{"for less than a TTL and a half", head + "1 c1 invoke release c1#1\n15.9 n1 expire c1#1", nil},
	} {
		h := handmade.History(t, c.story)
		h.Meta.Cap, h.Meta.CapAt = "the cap of an hour", h.Events[len(h.Events)-1].At
		var got []string
		for _, v := range (&index{Facts: facts.Of(h)}).hanging() {
			got = append(got, v.What)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
		// Such a call is why the run ended early, so the run counts.
		verdict := Inconclusive
		if len(c.want) > 0 {
			verdict = Unsafe
		}
		if r := Check(facts.Of(h), nil); r.Verdict != verdict {
			t.Errorf("%s: the verdict is %s: %q", c.name, r.Verdict, r.Unmet)
		}
		if h.Meta.Cap = ""; len((&index{Facts: facts.Of(h)}).hanging()) > 0 {
			t.Errorf("%s: violated without a cap", c.name)
		}
	}
}

// An acquire that goes on for long after its context has ended violates deadlock freedom.
func TestDeaf(t *testing.T) {
	const head = "0 c1 invoke acquire\n1 c1 info cancel\n"
	for _, c := range []struct {
		name, story string
		want        []string
	}{
		{"it returns late", head + "6.1 c1 fail acquire", []string{"the context of the acquire of c1 ended at 1.000s, and by 6.000s the call had not returned"}},
		{"it gets the lock late", head + "8 n1 set c1#1\n8.1 c1 ok acquire c1#1 until=18\n8.2 c1 invoke release c1#1\n8.3 n1 delete c1#1\n8.4 c1 ok release c1#1", []string{"the context of the acquire of c1 ended at 1.000s, and by 6.000s the call had not returned"}},
		{"it never returns", head + "6.1 c2 info exit", []string{"the context of the acquire of c1 ended at 1.000s, and by 6.000s the call had not returned"}},
		{"it returns in time", head + "6 c1 fail acquire", nil},
		{"its node was down", head + "2 n1 fault crash\n4 n1 fault restart\n9 c1 fail acquire", nil},
		{"long after its node was back", head + "2 n1 fault crash\n4 n1 fault restart\n9.1 c1 fail acquire", []string{"the context of the acquire of c1 ended at 1.000s, and by 9.000s the call had not returned"}},
		{"it was paused", head + "2 c1 fault pause\n9 c1 fault resume\n9.1 c1 fail acquire", nil},
		{"its request is held", head + "2 c1->n1 fault hold hold_c1->n1\n9 c1 fail acquire", nil},
		{"its request is a little slow", head + "1 c1->n1 fault delay delay_c1->n1_15ms\n9 c1 fail acquire", []string{"the context of the acquire of c1 ended at 1.000s, and by 6.000s the call had not returned"}},
		{"its reply was lost", head + "2 c1 drop n1 sent=1.5\n7 c1 fail acquire", nil},
		{"its reply was lost long ago", head + "2 c1 drop n1 sent=1.5\n7.1 c1 fail acquire", []string{"the context of the acquire of c1 ended at 1.000s, and by 7.000s the call had not returned"}},
		{"its request is kept back", head + "1 c1->n1 bite on_request_acquire_c1->n1_delay_3s\n8.9 c1 fail acquire", nil},
		{"the link of another is cut", head + "2 c2-n1 fault cut cut_c2-n1\n9 c1 fail acquire", []string{"the context of the acquire of c1 ended at 1.000s, and by 6.000s the call had not returned"}},
		{"it crashed", head + "2 c1 fault crash\n90 c2 info exit", nil},
		{"there was no acquire", "1 c1 info cancel\n9 c2 info exit", nil},
		{"it had long returned", "0 c1 invoke acquire\n0.1 c1 fail acquire\n0.2 c1 invoke read\n1 c1 info cancel\n9 c1 ok read", nil},
		{"a later one", head + "1.1 c1 fail acquire\n2 c1 invoke acquire\n9 c1 fail acquire", nil},
	} {
		var got []string
		for _, v := range Check(facts.Of(handmade.History(t, c.story)), nil).Violations {
			if v.Property == DeadlockFreedom {
				got = append(got, v.What)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}
