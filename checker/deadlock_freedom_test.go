package checker

import (
	"slices"
	"strings"
	"testing"

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
	testProperty(t, DeadlockFreedom, []verdictCase{
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
