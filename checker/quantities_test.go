package checker

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

func TestMeasure(t *testing.T) {
	const (
		c1 = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
		c2 = "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22\n"
	)
	covered := map[Quantity]bool{}
	for _, c := range []struct {
		name, story, want string
	}{
		{"nobody asks", "", "wait none"},
		{"one", c1, "wait 0.200s at most, 0.200s on average"},
		{"two", c1 + "1 c2 invoke acquire\n1.4 c2 ok acquire c2#1 until=9", "wait 0.400s at most, 0.300s on average"},
		{"tries in a row", c1 + "1 c2 invoke acquire\n2 c2 fail acquire\n2.1 c2 invoke acquire\n3 c2 ok acquire c2#1 until=9", "wait 2.000s at most, 1.100s on average"},
		{"a try, and another later", c1 + "1 c2 invoke acquire\n2 c2 fail acquire\n3 c2 invoke acquire\n3.2 c2 ok acquire c2#1 until=9", "wait 0.200s at most, 0.200s on average, 1 in vain"},
		{"only in vain", "1 c2 invoke acquire\n2 c2 fail acquire", "wait 1 in vain"},
		{"the probe", "probe c1\n" + c1, "wait none"},

		{"nobody asks", "", "acquiring none"},
		{"in vain", "0 c1 invoke acquire\n9 c1 fail acquire", "acquiring none"},
		{"one", c1, "acquiring 0.200s at most, 0.200s on average"},
		{"one after the other", c1 + "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.5 c2 ok acquire c2#1 until=22", "acquiring 0.500s at most, 0.350s on average"},
		{"the last try in a row", "0 c1 invoke acquire\n3 c1 fail acquire\n3.1 c1 invoke acquire\n3.3 c1 ok acquire c1#1 until=12", "acquiring 0.200s at most, 0.200s on average"},
		{"while another holds", c1 + "5 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "acquiring 0.200s at most, 0.200s on average"},
		{"while another has crashed", c1 + "1 c1 fault crash\n5 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "acquiring 0.200s at most, 0.200s on average"},
		{"after a release", c1 + "1 c1 invoke release c1#1\n5 c2 invoke acquire\n5.1 n1 set c2#1\n5.6 c2 ok acquire c2#1 until=15", "acquiring 0.600s at most, 0.400s on average"},
		{"while another had it for a moment", "0 c1 invoke acquire\n1 c2 invoke acquire\n1.1 n1 set c2#1\n1.2 c2 ok acquire c2#1 until=9\n2 c2 invoke release c2#1\n3 n1 set c1#1\n3.1 c1 ok acquire c1#1 until=12", "acquiring 0.200s at most, 0.200s on average"},
		{"while the other lock is held", c1 + "5 c2 invoke acquire lock=b\n5.4 c2 ok acquire c2#1 until=22 lock=b", "acquiring 0.400s at most, 0.300s on average"},
		{"while another has it and does not know", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c2 invoke acquire\n1.9 n1 over c2#1 was=c1#1\n2 c2 ok acquire c2#1 until=12\n3 c1 ok acquire c1#1 until=2.5", "acquiring none"},
		{"from the end of another lease", c1 + "10 c2 invoke acquire\n10.1 n1 set c2#1\n10.6 c2 ok acquire c2#1 until=22", "acquiring 0.600s at most, 0.400s on average"},
		{"until another has it", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 c2 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n0.2 n1 over c2#1 was=c1#1\n0.5 c2 ok acquire c2#1 until=10", "acquiring 0.200s at most, 0.200s on average"},
		{"the probe", "probe c1\n" + c1, "acquiring none"},

		{"nobody asks", "", "unavailability none"},
		{"at once", c1, "unavailability 0.100s"},
		{"while another holds", c1 + "1 c2 invoke acquire\n10.5 n1 set c2#1\n10.6 c2 ok acquire c2#1 until=20", "unavailability 0.500s"},
		{"the longest time", "0 c2 invoke acquire\n3 c2 fail acquire\n4 c2 invoke acquire\n8 c2 fail acquire", "unavailability 4.000s"},
		{"two ask in turn", "0 c2 invoke acquire\n2 c3 invoke acquire\n3 c2 fail acquire\n5 c3 fail acquire", "unavailability 5.000s"},
		{"the probe", "probe c2\n0 c2 invoke acquire\n3 c2 fail acquire", "unavailability none"},

		{"no lease", "0 c1 invoke acquire", "validity none"},
		{"one", c1, "validity 9.800s at least"},
		{"two", c1 + "1 c2 invoke acquire\n9 c2 ok acquire c2#1 until=9.25", "validity 0.250s at least"},
		{"over", "1 c2 invoke acquire\n9 c2 ok acquire c2#1 until=8.5", "validity -0.500s at least"},
		{"no end", "1 c2 invoke acquire\n9 c2 ok acquire c2#1 until=never", "validity none"},

		{"no messages", c1, "round trips none"},
		{"requests and replies", c1 + "0.3 n1 deliver c1 SET_lock\n0.4 c1 deliver n1 OK\n0.5 n1 drop c1 EVALSHA", "round trips 2.0 for each lease, 2 for 1"},
		{"of several", "0 n1 deliver c2 SET_lock\n" + c1 + c2 + "13 n1 deliver c1 SET_lock\n13 n1 deliver c1 SET_lock", "round trips 1.5 for each lease, 3 for 2"},
		{"in vain", "0 n1 deliver c2 SET_lock", "round trips 1 requests and no lease"},
		{"not those of a connection, of a probe, of a primary, or to the resource", "probe c3\nreplica r1\n" + c1 + "0.3 n1 deliver c1 HELLO_3;_CLIENT\n0.3 n1 deliver c1 SET_lock\n0.3 r1 deliver n1 SET_lock\n0.3 resource deliver c1 write\n0.3 n1 deliver c3 SET_lock", "round trips 1.0 for each lease, 1 for 1"},

		{"no writes", c1, "duplicate work none"},
		{"none", "0 resource accept A by=c1\n1 resource accept B by=c2", "duplicate work 0 of 2 writes"},
		{"the same by two", "0 resource accept A by=c1\n1 resource accept A by=c2", "duplicate work 1 of 2 writes"},
		{"the same by one", "0 resource accept A by=c1\n1 resource accept A by=c1", "duplicate work 0 of 2 writes"},
		{"refused", "0 resource accept A by=c1\n1 resource reject A by=c2", "duplicate work 0 of 1 writes"},
		{"kept, by its word", "0 resource accept A word=A by=c1\n1 resource keep A_A word=A by=c2", "duplicate work 1 of 2 writes"},

		{"nobody comes", c1, "takeover none"},
		{"after the end", c1 + "11 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "takeover 1.100s"},
		{"a waiter", c1 + "5 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "takeover 2.100s"},
		{"after a crash", c1 + "1 c1 fault crash\n5 c2 invoke acquire\n10.1 n1 set c2#1\n10.2 c2 ok acquire c2#1 until=22", "takeover 0.100s"},
		{"after an exit", c1 + "3 c1 info exit\n5 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "takeover 2.100s"},
		{"after an exit and the end", c1 + "5 c2 invoke acquire\n11 c1 info exit\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "takeover 2.100s"},
		{"after a release", c1 + "3 c1 invoke release c1#1\n3.1 c1 info exit\n5 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "takeover 7.100s"},
		{"before the end of the lease of one who has crashed", c1 + "1 c1 fault crash\n5 c2 invoke acquire\n6 n1 set c2#1\n6.1 c2 ok acquire c2#1 until=22", "takeover none"},
		{"by the same client", c1 + "12 c1 invoke acquire\n12.2 c1 ok acquire c1#2 until=22", "takeover none"},
		{"too early", c1 + "5 c2 invoke acquire\n5.1 n1 set c2#1\n5.2 c2 ok acquire c2#1 until=22", "takeover none"},
		{"after an extension", c1 + "9 c1 info renew c1#1 until=11\n10 c2 invoke acquire\n12 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22", "takeover 1.000s"},

		{"in time", c1 + "10.1 n1 expire c1#1", "outlives none"},
		{"too long", c1 + "10.6 n1 expire c1#1", "outlives 0.500s on n1"},
		{"until the end of the run", c1 + "30.1 c1 info exit", "outlives over 20.000s on n1"},
		{"one that ended, and one that lives on", c1 + "20.1 n1 expire c1#1\n30.1 n1 set c1#2\n50 c1 info exit", "outlives 10.000s on n1"},
		{"one that ended, and one that lives on for longer", c1 + "20.1 n1 expire c1#1\n30.1 n1 set c1#2\n60.1 c1 info exit", "outlives over 20.000s on n1"},
		{"the same on two nodes", "nodes 2\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n10.6 n1 expire c1#1\n10.6 n2 expire c1#1", "outlives 0.500s on n1"},
		{"in the millisecond of its deadline", c1 + "10.101 n1 expire c1#1", "outlives none"},
		{"promised no end", "0 n1 set c1#1 until=never\n30 c1 info exit", "outlives none"},
		{"the most", c1 + "10.6 n1 expire c1#1\n20 n1 set c1#2\n32 n1 expire c1#2", "outlives 2.000s on n1"},

		{"nobody counts", c1, "increments none"},
		{"all", "0 c1 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 ok increment 1", "increments 1 asked = 1 in the counter"},
		{"beside a key of that name on a node", "0 c1 invoke increment\n1 resource set 1 key=counter by=c1\n1 n1 set 7 key=counter by=c1\n2 c1 ok increment 1", "increments 1 asked = 1 in the counter"},
		{"skipped", "0 c1 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 ok increment 1\n3 c2 invoke increment\n4 c2 fail increment", "increments 2 asked - 1 skipped = 1 in the counter"},
		{"lost", "0 c1 invoke increment\n0 c2 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 ok increment 1\n3 c2 ok increment 1", "increments 2 asked - 1 lost = 1 in the counter"},
		{"from ten", "0 resource set 10 key=counter by=nobody\n0 c1 invoke increment\n1 resource over 11 key=counter by=c1\n2 c1 ok increment 11", "increments 1 asked = 1 in the counter, from 10 to 11"},
		{"unknown, and not done", "0 c1 invoke increment\n1 c1 info increment", "increments 1 asked - 1 of unknown outcome = 0 in the counter"},
		{"unknown, and done", "0 c1 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 info increment", "increments 1 asked = 1 in the counter, of which 1 was never acknowledged"},
		{"lost, beside one of unknown outcome", "0 c1 invoke increment\n0 c2 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 ok increment 1\n3 c2 ok increment 1\n4 c3 invoke increment\n5 resource over 2 key=counter by=c3\n6 c3 info increment", "increments 3 asked - 1 lost = 2 in the counter, of which 1 was never acknowledged"},
		{"unknown, done and undone", "0 c1 invoke increment\n0 c3 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 ok increment 1\n2 c2 invoke increment\n3 resource over 2 key=counter by=c2\n4 c2 info increment\n5 resource over 1 key=counter by=c3\n6 c3 ok increment 1", "increments 3 asked - 1 lost - 1 of unknown outcome = 1 in the counter"},
		{"done twice", "0 c1 invoke increment\n1 resource set 1 key=counter by=c1\n1 resource over 2 key=counter by=c1\n2 c1 ok increment 2", "increments 1 asked, and the counter went from 0 to 2"},
	} {
		for _, q := range Quantities() {
			if m := Measure(facts.Of(handmade.History(t, c.story)), q); len(c.want) > len(q) && c.want[:len(q)+1] == string(q)+" " {
				covered[q] = true
				if m[0].String() != c.want {
					t.Errorf("%s: %q, want %q\n%s", c.name, m[0], c.want, c.story)
				}
				if (len(m[0].Figures) == 0) != (m[0].Text == "none") {
					t.Errorf("%s: %q has figures %v", c.name, m[0], m[0].Figures)
				}
			}
		}
	}
	for _, q := range Quantities() {
		if !covered[q] {
			t.Errorf("no story for %s", q)
		}
	}
}

func TestMeasureJSON(t *testing.T) {
	const known = "0 c1 invoke increment\n1 resource set 1 key=counter by=c1\n2 c1 ok increment 1"
	b, err := json.Marshal(Measure(facts.Of(handmade.History(t, known)), Increments))
	if want := `[{"quantity":"increments","figures":[{"name":"asked","value":1},{"name":"done","value":1},{"name":"skipped","value":0},{"name":"lost","value":0},` +
		`{"name":"from","value":0},{"name":"final","value":1}],"text":"1 asked = 1 in the counter"}]`; err != nil || string(b) != want {
		t.Errorf("%v, got %s\nwant %s", err, b, want)
	}
	b, err = json.Marshal(Measure(facts.Of(handmade.History(t, "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n1 resource accept A by=c1\n2 resource accept A by=c2\n3 c1 invoke increment\n4 resource set 1 key=counter by=c1\n5 c1 info increment")), Wait, DuplicateWork, Increments, Outlives))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"quantity":"wait","figures":[{"name":"longest","value":0.2,"unit":"s"},{"name":"mean","value":0.2,"unit":"s"}],"text":"0.200s at most, 0.200s on average"},` +
		`{"quantity":"duplicate work","figures":[{"name":"writes","value":2},{"name":"again","value":1}],"text":"1 of 2 writes"},` +
		`{"quantity":"increments","figures":[{"name":"asked","value":1},{"name":"done","value":0},{"name":"skipped","value":0},{"name":"lost","value":0},` +
		`{"name":"from","value":0},{"name":"final","value":1},{"name":"unknown","value":1},{"name":"landed","value":1}],"text":"1 asked = 1 in the counter, of which 1 was never acknowledged"},` +
		`{"quantity":"outlives","text":"none"}]`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// Measure returns the quantities in the order asked for, with the same results each time, whatever the history.
func TestMeasureSurvivesGarbage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := handmade.Garbage(t)
		if rapid.Bool().Draw(t, "sound") {
			h = handmade.Random(t)
		}
		a, b := Measure(facts.Of(h), Quantities()...), Measure(facts.Of(h), Quantities()...)
		for i, q := range Quantities() {
			if a[i].Quantity != q || a[i].String() != b[i].String() || !slices.Equal(a[i].Figures, b[i].Figures) {
				t.Fatalf("%v, then %v", a[i], b[i])
			}
		}
	})
	if m := Measure(facts.Of(handmade.History(t, ""))); m != nil {
		t.Errorf("nothing was asked for, and %v measured", m)
	}
}
