package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/sim"
	"pgregory.net/rapid"
)

func parseMust(t testing.TB, s string) Must {
	t.Helper()
	m, err := ParseMust(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMustMet(t *testing.T) {
	const c1 = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n2 set c1#1
		0.2  c1 ok acquire c1#1 until=10
	`
	type situation struct{ name, text string }
	covered := map[string]bool{}
	for _, c := range []struct {
		must       string
		met, unmet []situation
	}{
		{
			must:  "c1 acquires",
			met:   []situation{{"it does", c1}},
			unmet: []situation{{"nothing happens", ""}, {"it is refused", "0 c1 invoke acquire\n1 c1 fail acquire"}, {"another does", "0 c2 invoke acquire\n1 c2 ok acquire c2#1 until=9"}},
		},
		{
			must:  "c1 is refused",
			met:   []situation{{"it is", "0 c1 invoke acquire\n1 c1 fail acquire"}},
			unmet: []situation{{"it acquires", c1}, {"nobody can tell", "0 c1 invoke acquire\n1 c1 info acquire"}, {"a write fails", "0 c1 invoke write\n1 c1 fail write"}, {"another is", "0 c2 invoke acquire\n1 c2 fail acquire"}},
		},
		{
			must: "c1 pauses after a passed check",
			met: []situation{
				{"it does", c1 + "1 c1 ok check c1#1\n1 c1 fault pause"},
				{"a write comes between", c1 + "1 c1 ok check c1#1\n1 c1 invoke write\n2 c1 ok write\n3 c1 fault pause"},
				{"a check with an invocation", c1 + "1 c1 invoke check\n1 c1 ok check c1#1\n1 c1 fault pause"},
			},
			unmet: []situation{
				{"no check", c1 + "1 c1 fault pause"},
				{"a failed check", c1 + "1 c1 fail check c1#1\n1 c1 fault pause"},
				{"a later check fails", c1 + "1 c1 ok check c1#1\n2 c1 fail check c1#1\n2 c1 fault pause"},
				{"the pause comes first", c1 + "1 c1 fault pause\n2 c1 fault resume\n3 c1 ok check c1#1"},
				{"the release comes first", c1 + "1 c1 ok check c1#1\n2 c1 invoke release c1#1\n2.1 c1 fault pause"},
				{"another pauses", c1 + "1 c1 ok check c1#1\n1 c2 fault pause"},
			},
		},
		{
			must: "c1 resumes after its lease ended",
			met: []situation{
				{"it does", c1 + "1 c1 fault pause\n15 c1 fault resume"},
				{"by a nanosecond", c1 + "1 c1 fault pause\n10.000000001 c1 fault resume"},
				{"within its release", c1 + "1 c1 invoke release c1#1\n2 c1 fault pause\n15 c1 fault resume"},
				{"at the second pause", c1 + "1 c1 fault pause\n2 c1 fault resume\n3 c1 fault pause\n15 c1 fault resume"},
				{"by its own fast clock", c1 + "1 c1 fault drift ppm=1000000\n2 c1 fault pause\n6 c1 fault resume"},
			},
			unmet: []situation{
				{"at its end", c1 + "1 c1 fault pause\n10 c1 fault resume"},
				{"by its own slow clock", c1 + "1 c1 fault drift ppm=-500000\n2 c1 fault pause\n15 c1 fault resume"},
				{"never", c1 + "1 c1 fault pause"},
				{"paused before it had the lease", "0 c1 invoke acquire\n1 c1 fault pause\n20 c1 fault resume\n21 c1 ok acquire c1#1 until=10"},
				{"paused after the release", c1 + "1 c1 invoke release c1#1\n2 c1 ok release c1#1\n3 c1 fault pause\n15 c1 fault resume"},
				{"another resumes", c1 + "1 c2 fault pause\n15 c2 fault resume"},
			},
		},
		{
			must: "c1 resumes after its keys ended",
			met: []situation{
				{"it does", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
				{"the keys arrive in its sleep", "0 c1 invoke acquire\n0 c1 fault pause\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
			},
			unmet: []situation{
				{"the operation is over", c1 + "1 c1 fault pause\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
				{"the keys are of an earlier operation", c1 + "1 c1 invoke release\n1 c1 fault pause\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
				{"only a minority", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n11 c1 fault resume"},
				{"one node twice", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n10 n1 set c1#1\n10.5 n1 expire c1#1\n11 c1 fault resume"},
				{"only a minority expired", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n11 c1 fault resume"},
				{"they were deleted", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n10 n1 delete c1#1\n10 n2 delete c1#1\n11 c1 fault resume"},
				{"they expire later", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n9 c1 fault resume\n10 n1 expire c1#1\n10 n2 expire c1#1"},
				{"keys of another", "0 c1 invoke acquire\n0.1 n1 set c2#1\n0.1 n2 set c2#1\n1 c1 fault pause\n10 n1 expire c2#1\n10 n2 expire c2#1\n11 c1 fault resume"},
			},
		},
		{
			must: "c1 holds exactly n1 n2",
			met:  []situation{{"it does", c1}, {"a third came and went", "0 c1 invoke acquire\n0 n1 set c1#1\n0 n2 set c1#1\n0 n3 set c1#1\n0 n3 lose c1#1\n1 c1 ok acquire c1#1 until=9\n2 n3 set c1#1"}},
			unmet: []situation{
				{"more", "0 n3 set c1#1\n" + c1},
				{"fewer", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=9"},
				{"others", "0 c1 invoke acquire\n0 n1 set c1#1\n0 n3 set c1#1\n1 c1 ok acquire c1#1 until=9"},
				{"an earlier lease", "0 n2 set c1#0\n0 c1 invoke acquire\n0 n1 set c1#1\n1 c1 ok acquire c1#1 until=9"},
				{"later", "0 c1 invoke acquire\n0 n1 set c1#1\n1 c1 ok acquire c1#1 until=9\n2 n2 set c1#1"},
				{"never handed out", "0 c1 invoke acquire\n0 n1 set c1#1\n0 n2 set c1#1\n1 c1 info acquire"},
			},
		},
		{
			must: "n2 drops the key of c1 early",
			met:  []situation{{"by expiry", c1 + "5 n2 expire c1#1"}, {"by loss", c1 + "5 n2 lose c1#1"}, {"without a deadline", c1 + "1 n2 retime c1#1 until=never\n50 n2 lose c1#1"}, {"less than it was promised", c1 + "1 n2 retime c1#1 until=31\n15 n2 expire c1#1"}},
			unmet: []situation{
				{"in time", c1 + "10.1 n2 expire c1#1"}, {"within rounding", c1 + "10.099 n2 expire c1#1"}, {"by a command", c1 + "5 n2 delete c1#1"},
				{"another node", c1 + "5 n1 expire c1#1"}, {"another key", "0 n2 set c2#1\n5 n2 expire c2#1"}, {"not at all", c1},
				{"promised less", "0 c1 invoke acquire\n0.1 n2 set c1#1 until=2.6\n2.6 n2 expire c1#1"}, {"made less", c1 + "1 n2 retime c1#1 until=103 wall=100\n3 n2 expire c1#1"},
				{"promised less, and lost after that", c1 + "1 n2 retime c1#1 until=3\n3.1 n2 lose c1#1"}, {"promised no end", c1 + "1 n2 retime c1#1 until=never\n3 n2 expire c1#1"},
			},
		},
		{
			must: "n2 keeps the key of c1 late",
			met:  []situation{{"until it expires", c1 + "10.2101 n2 expire c1#1"}, {"until the end", c1 + "15 c2 info exit"}, {"promised less", c1 + "1 n2 retime c1#1 until=3\n6 n2 expire c1#1"}},
			unmet: []situation{
				{"within the allowance", c1 + "10.21 n2 expire c1#1\n20 n2 set c1#2"}, {"renewed", c1 + "9 n2 retime c1#1\n18 n2 expire c1#1"},
				{"another node", c1 + "10.1 n2 expire c1#1\n15 n1 expire c1#1"}, {"another key", "0 n2 set c2#1\n15 n2 expire c2#1"}, {"promised more", c1 + "1 n2 retime c1#1 until=31\n31 n2 expire c1#1"}, {"promised no end", c1 + "1 n2 retime c1#1 until=never\n99 c1 info exit"}, {"no TTL", "ttl 0\n" + c1 + "99 n2 expire c1#1"},
			},
		},
		{
			must: "n3 restarts after the lease of c1 ended",
			met:  []situation{{"it does", c1 + "1 n3 fault crash\n10.1 n3 fault restart id=2"}},
			unmet: []situation{
				{"by the healing at the end", c1 + "1 n3 fault crash\n10.1 n3 fault restart"}, {"before", c1 + "1 n3 fault crash\n9 n3 fault restart id=2"}, {"at its end", c1 + "1 n3 fault crash\n10 n3 fault restart id=2"}, {"another", c1 + "1 n2 fault crash\n11 n2 fault restart id=2"},
				{"before there was one", "0 n3 fault crash\n20 n3 fault restart id=2\n20 c1 invoke acquire\n21 c1 ok acquire c1#1 until=15"},
				{"after that of another", "0 c2 invoke acquire\n1 c2 ok acquire c2#1 until=5\n10 n3 fault restart id=2"},
				{"after an earlier lease", c1 + "11 c1 invoke acquire\n12 c1 ok acquire c1#2 until=22\n13 n3 fault restart id=2"},
			},
		},
		{
			must: "n3 restarts before the lease of c1 ended",
			met:  []situation{{"it does", c1 + "1 n3 fault crash\n9 n3 fault restart id=2"}},
			unmet: []situation{
				{"by the healing at the end", c1 + "1 n3 fault crash\n9 n3 fault restart"}, {"after", c1 + "1 n3 fault crash\n11 n3 fault restart id=2"}, {"at its end", c1 + "1 n3 fault crash\n10 n3 fault restart id=2"}, {"another", c1 + "1 n2 fault restart id=2"},
				{"before there was one", "0 n3 fault restart id=2\n" + c1},
			},
		},
		{
			must: "write A arrives after its lease ended",
			met:  []situation{{"accepted", c1 + "11 resource accept A c1#1"}, {"refused", c1 + "11 resource reject A c1#1"}},
			unmet: []situation{
				{"before", c1 + "9 resource accept A c1#1"}, {"at its end", c1 + "10 resource accept A c1#1"}, {"another write", c1 + "11 resource accept B c1#1"},
				{"without a lease", c1 + "11 resource accept A by=c1"}, {"not at all", c1 + "11 c1 invoke write A"},
			},
		},
		{
			must:  "write A arrives before write B",
			met:   []situation{{"it does", "1 resource accept A c1#1\n1 resource accept B c2#1"}, {"refused", "1 resource reject A c1#1\n1 resource reject B c2#1"}},
			unmet: []situation{{"after", "1 resource accept B c2#1\n1 resource accept A c1#1"}, {"alone", "1 resource accept A c1#1"}, {"B alone", "1 resource accept B c1#1"}},
		},
		{
			must: "c1 acquires with n2 n3 down",
			met:  []situation{{"it does", "0 n3 fault crash\n0 n2 fault crash\n" + c1}, {"again", "0 n3 fault crash\n0 n3 fault restart\n0 n3 fault crash\n0 n2 fault crash\n" + c1}},
			unmet: []situation{
				{"one is up", "0 n3 fault crash\n" + c1}, {"back up", "0 n3 fault crash\n0 n2 fault crash\n0 n2 fault restart\n" + c1}, {"down later", c1 + "1 n3 fault crash\n1 n2 fault crash"},
				{"refused", "0 n3 fault crash\n0 n2 fault crash\n0 c1 invoke acquire\n1 c1 fail acquire"},
			},
		},
		{
			must: "c1 tries with n2 n3 down",
			met:  []situation{{"and is refused", "0 n3 fault crash\n0 n2 fault crash\n0 c1 invoke acquire\n1 c1 fail acquire"}, {"and acquires", "0 n3 fault crash\n0 n2 fault crash\n" + c1}},
			unmet: []situation{
				{"one is up", "0 n3 fault crash\n0 c1 invoke acquire\n1 c1 fail acquire"}, {"not at all", "0 n3 fault crash\n0 n2 fault crash\n"},
				{"another does", "0 n3 fault crash\n0 n2 fault crash\n0 c2 invoke acquire\n1 c2 fail acquire"},
			},
		},
		{
			must: "c1 crashes while it holds",
			met:  []situation{{"it does", c1 + "5 c1 fault crash"}},
			unmet: []situation{
				{"not at all", c1}, {"too late", c1 + "11 c1 fault crash"}, {"after the release", c1 + "1 c1 invoke release c1#1\n5 c1 fault crash"}, {"another", c1 + "5 c2 fault crash"},
			},
		},
		{
			must: "c2 waits for c1",
			met:  []situation{{"and gets it", c1 + "1 c2 invoke acquire\n11 c2 ok acquire c2#1 until=20"}, {"and is refused", c1 + "1 c2 invoke acquire\n2 c2 fail acquire"}, {"and began earlier", "0 c2 invoke acquire\n" + c1 + "2 c2 fail acquire"}},
			unmet: []situation{
				{"too early", "0 c2 invoke acquire\n0.1 c2 fail acquire\n" + c1}, {"too late", c1 + "10 c2 invoke acquire\n11 c2 fail acquire"},
				{"after the release", c1 + "1 c1 invoke release c1#1\n1 c2 invoke acquire\n11 c2 fail acquire"}, {"unanswered", c1 + "1 c2 invoke acquire"}, {"nobody can tell", c1 + "1 c2 invoke acquire\n2 c2 info acquire"},
				{"another lock", c1 + "1 c2 invoke acquire lock=b\n2 c2 fail acquire lock=b"}, {"another client", c1 + "1 c3 invoke acquire\n2 c3 fail acquire"},
			},
		},
		{
			must: "some client waits for another",
			met:  []situation{{"it does", c1 + "1 c2 invoke acquire\n2 c2 fail acquire"}},
			unmet: []situation{
				{"alone", c1}, {"for itself", c1 + "1 c1 invoke acquire\n2 c1 fail acquire"}, {"one after the other", c1 + "11 c2 invoke acquire\n12 c2 ok acquire c2#1 until=20"},
			},
		},
		{
			must: "c1 reaches only n1 n2",
			met: []situation{
				{"it does", "0 c1 invoke acquire\n1 n2 deliver c1\n1 n1 deliver c1\n2 n1 deliver c1\n3 c1 fail acquire"},
				{"later another", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n3 c1 fail acquire\n4 n3 deliver c1"},
				{"with others about", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n2 n3 deliver c2\n2 n3 drop c1\n2 resource deliver c1\n3 c1 fail acquire"},
			},
			unmet: []situation{
				{"more", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n1 n3 deliver c1\n3 c1 fail acquire"}, {"fewer", "0 c1 invoke acquire\n1 n1 deliver c1\n3 c1 fail acquire"},
				{"too late", "0 c1 invoke acquire\n1 n1 deliver c1\n3 c1 fail acquire\n4 n2 deliver c1"}, {"unanswered", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1"},
			},
		},
		{
			must: "c1 is first at n1 n2",
			met:  []situation{{"it is", "0 n1 set c1#1\n0 n2 set c1#1\n0 n3 set c2#1\n1 n1 delete c1#1\n2 n1 set c2#2"}},
			unmet: []situation{
				{"at one of them", "0 n1 set c1#1\n0 n2 set c2#1"}, {"at one of them only", "0 n1 set c1#1"}, {"second", "0 n1 set c2#1\n0 n2 set c1#1\n1 n1 delete c2#1\n2 n1 set c1#1"},
			},
		},
		{
			must:  "a request from c1 to n1 takes over 12s",
			met:   []situation{{"too late for its receiver", "15 n1 late c1 sent=1"}, {"it does", "15 n1 deliver c1 sent=2.9"}, {"from the first instant", "15 n1 deliver c1"}},
			unmet: []situation{{"exactly", "15 n1 deliver c1 sent=3"}, {"another", "15 n1 deliver c2 sent=1"}, {"elsewhere", "15 n2 deliver c1 sent=1"}, {"lost", "15 n1 drop c1 sent=1"}, {"the reply", "15 c1 deliver n1 sent=1"}},
		},
		{
			must:  "a reply from n1 to c1 takes over 12s",
			met:   []situation{{"it does", "15 c1 deliver n1 sent=2.9"}},
			unmet: []situation{{"exactly", "15 c1 deliver n1 sent=3"}, {"another", "15 c2 deliver n1 sent=1"}, {"the request", "15 n1 deliver c1 sent=1"}},
		},
	} {
		t.Run(strings.ReplaceAll(c.must, " ", "-"), func(t *testing.T) {
			m := parseMust(t, c.must)
			for _, s := range c.met {
				if !m.Met(story(t, "nodes 3\n"+s.text)) {
					t.Errorf("unmet where it should be met (%s):\n%s", s.name, s.text)
				}
			}
			for _, s := range c.unmet {
				if m.Met(story(t, "nodes 3\n"+s.text)) {
					t.Errorf("met where it should not be (%s):\n%s", s.name, s.text)
				}
			}
			if len(c.met) == 0 || len(c.unmet) == 0 {
				t.Error("one side is missing")
			}
			covered[m.form] = true
		})
	}
	for _, form := range forms() {
		if !covered[form] {
			t.Errorf("no story for %q", form)
		}
	}
}

func TestMustRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []string{
		"c1 acquires", "c1 is refused", "c12 pauses after a passed check", "c1 resumes after its lease ended", "probe acquires",
		"c1 resumes after its keys ended", "c1 holds exactly n1", "c1 holds exactly n3 n1 n2", "n3 drops the key of c1 early",
		"n3 keeps the key of c1 late", "n3 restarts after the lease of c1 ended", "n3 restarts before the lease of c1 ended",
		"write A arrives after its lease ended", "write A arrives before write B", "c1 acquires with n1 n2 down",
		"c1 tries with n1 n2 n3 down", "c1 waits for c2", "a request from c1 to n1 takes over 12s",
		"a request from c1 to resource takes over 90s", "a reply from n1 to c1 takes over 1500ms",
	} {
		m := parseMust(t, s)
		if m.String() != s {
			t.Errorf("%q is printed as %q", s, m)
		}
		if again := parseMust(t, m.String()); again != m {
			t.Errorf("%q is parsed as %+v, and then as %+v", s, m, again)
		}
		if seen[fmt.Sprint(m)] {
			t.Errorf("%q prints as another must does", s)
		}
		seen[fmt.Sprint(m)] = true
	}
	if got := parseMust(t, "  c1   acquires "); got != parseMust(t, "c1 acquires") {
		t.Errorf("blanks count: %+v", got)
	}
}

// Whatever a form is filled with, it is read back as the same.
func TestMustRoundTripRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := func(letter string) string { return fmt.Sprint(letter, rapid.IntRange(1, 20).Draw(t, "name")) }
		words := strings.Fields(rapid.SampledFrom(forms()).Draw(t, "form"))
		for i, w := range words {
			switch w {
			case "CLIENT", "RIVAL":
				words[i] = name("c")
			case "NODE", "SERVER":
				words[i] = name("n")
			case "NODES":
				words[i] = name("n")
				for range rapid.IntRange(0, 4).Draw(t, "more") {
					words[i] += " " + name("n")
				}
			case "WRITE", "NEXT":
				words[i] = rapid.StringMatching(`[A-Za-z0-9#]+`).Draw(t, "value")
			case "LIMIT":
				words[i] = sim.FormatDuration(time.Duration(rapid.Int64Range(1, int64(sim.MaxDuration)).Draw(t, "limit")))
			}
		}
		s := strings.Join(words, " ")
		m, err := ParseMust(s)
		if err != nil {
			t.Fatal(err)
		}
		if m.String() != s {
			t.Fatalf("%q is printed as %q", s, m)
		}
	})
}

func TestParseMustErrors(t *testing.T) {
	for s, nearest := range map[string]string{
		"":                                       "",
		"c1 aquires":                             clientAcquires,
		"x1 acquires":                            "",
		"c1 refused":                             clientRefused,
		"c1 resumes after the lease ended":       resumesAfterLease,
		"c1 resumes after its keys expired":      resumesAfterKeys,
		"c1 holds exactly":                       holdsExactly,
		"c1 holds exactly n1 c2":                 holdsExactly,
		"n3 drops key of c1 early":               dropsEarly,
		"n0 restarts after the lease of c1 ends": restartsAfter,
		"n3 restarts before the end of c1":       restartsBefore,
		"write A arrives before B":               "",
		"c1 acquires with down":                  acquiresWithDown,
		"c1 acquires with n1 up":                 acquiresWithDown,
		"c1 acquires twice":                      clientAcquires,
		"c1 waits for n1":                        waitsFor,
		"a request from c1 to n1 takes over 12":  requestTakesLonger,
		"a reply from n1 to c1 takes over -1s":   replyTakesLonger,
		"must c1 acquires":                       clientAcquires,
	} {
		m, err := ParseMust(s)
		if err == nil {
			t.Errorf("%q is parsed as %+v", s, m)
			continue
		}
		want := fmt.Sprintf("unknown must %q; the musts are %s", s, strings.Join(forms(), ", "))
		if nearest != "" {
			want += fmt.Sprintf(" (did you mean %q?)", nearest)
		}
		if err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", s, err, want)
		}
	}
}

func TestZeroMust(t *testing.T) {
	if (Must{}).Met(story(t, "0 c1 invoke acquire")) {
		t.Error("the zero Must demands nothing and is never met")
	}
}

func FuzzParseMust(f *testing.F) {
	for _, form := range forms() {
		f.Add(form)
	}
	f.Add("c1 holds exactly n1 n2 n3")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMust(s)
		if err != nil {
			return
		}
		again, err := ParseMust(m.String())
		if err != nil || again != m {
			t.Errorf("%q is printed as %q, which is %+v, %v", s, m, again, err)
		}
	})
}
