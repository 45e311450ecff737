package scenarios

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/sim"
)

// page has every feature of the language, in canonical form.
const page = `# A pause outlives the lease.
#
# c1 obtains the lease, then stops.
#   An indented line.
#
# Kleppmann, "How to do distributed locking" (2016), first figure.

ttl 9s
client c1
  acquire
  check
  pause 15s
  write A
  read
  release
client c2
  until 12s
  acquire within 20s
  write B
  sleep 1500ms
  release
nemesis
  cut c1-n3
  at 1500ms jump n3 +11s
  when c1 acquired crash n2
  when c1 acquired +3s restart n2 empty
  when c2 wrote B heal
  on reply SET n3->c1 hold
  when c1 acquired on request write c1->resource delay 90s
must c1 resumes after its lease ended
must write A arrives after its lease ended

-- single nodes=3 --
expect resource exclusion violated
   0.000s  c1       invoke  acquire
   0.003s  c1       ok      acquire         valid until 10.000s

verdict: UNSAFE
  lease exclusion     ok
-- redlock nodes=5 resource=fenced label=too-short ttl=5s --
client c2
nemesis
  at 4s restart n3 empty
client c3
  acquire
must n3 restarts before the lease of c1 ended
expect lease exclusion violated
expect owner only ok
expect deadlock freedom unknown
expect expired on return violated: bounded delay
-- redlock nodes=3 resource=plain --
   0.000s  c1       invoke  acquire
`

func TestParse(t *testing.T) {
	must := func(s string) checker.Must {
		m, err := checker.ParseMust(s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := &Scenario{
		Name:  "pause",
		File:  "catalogue/pause.txtar",
		Title: "A pause outlives the lease.",
		Prose: "c1 obtains the lease, then stops.\n  An indented line.\n\n" +
			`Kleppmann, "How to do distributed locking" (2016), first figure.`,
		TTL: 9 * time.Second,
		Lanes: []Lane{
			{Process: "c1", Steps: []Step{
				Acquire{}, Check{}, Pause{For: 15 * time.Second}, Write{Value: "A"}, Read{}, Release{},
			}},
			{Process: "c2", Steps: []Step{
				Until{Time: 12 * time.Second}, Acquire{Within: 20 * time.Second}, Write{Value: "B"},
				Sleep{For: 1500 * time.Millisecond}, Release{},
			}},
			{Process: Nemesis, Steps: []Step{
				AtStart{Fault: sim.Cut{Link: sim.Link{From: "c1", To: "n3", Both: true}}},
				At{Time: 1500 * time.Millisecond, Fault: sim.Jump{Process: "n3", By: 11 * time.Second}},
				When{Event: Event{Process: "c1", What: Acquired}, Fault: sim.Crash{Process: "n2"}},
				When{Event: Event{Process: "c1", What: Acquired}, After: 3 * time.Second, Fault: sim.Restart{Process: "n2", Empty: true}},
				When{Event: Event{Process: "c2", What: Wrote, Value: "B"}, Fault: sim.Heal{}},
				AtStart{Fault: sim.Chosen{Reply: true, What: "SET", Link: sim.Link{From: "n3", To: "c1"}, Action: sim.HoldMessage}},
				When{Event: Event{Process: "c1", What: Acquired}, Fault: sim.Chosen{
					What: "write", Link: sim.Link{From: "c1", To: "resource"}, Action: sim.DelayMessage, By: 90 * time.Second,
				}},
			}},
		},
		Musts: []checker.Must{must("c1 resumes after its lease ended"), must("write A arrives after its lease ended")},
		Runs: []Run{
			{
				Lock: "single", Nodes: 3,
				Expect: []Expectation{{Property: checker.ResourceExclusion, Status: checker.Violated}},
				Golden: "   0.000s  c1       invoke  acquire\n" +
					"   0.003s  c1       ok      acquire         valid until 10.000s\n\n" +
					"verdict: UNSAFE\n  lease exclusion     ok\n",
			},
			{
				Lock: "redlock", Label: "too-short", Nodes: 5, Resource: Fenced, TTL: 5 * time.Second,
				Lanes: []Lane{
					{Process: "c2"},
					{Process: Nemesis, Steps: []Step{At{Time: 4 * time.Second, Fault: sim.Restart{Process: "n3", Empty: true}}}},
					{Process: "c3", Steps: []Step{Acquire{}}},
				},
				Musts: []checker.Must{must("n3 restarts before the lease of c1 ended")},
				Expect: []Expectation{
					{Property: checker.LeaseExclusion, Status: checker.Violated},
					{Property: checker.OwnerOnly, Status: checker.OK},
					{Property: checker.DeadlockFreedom, Status: checker.Unknown},
					{Property: checker.ExpiredOnReturn, Status: checker.Violated, Assumption: checker.BoundedDelay},
				},
			},
			{Lock: "redlock", Nodes: 3, Resource: Plain, Golden: "   0.000s  c1       invoke  acquire\n"},
		},
	}
	got, err := Parse("catalogue/pause.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(want) {
		t.Errorf("got\n%#v\nwant\n%#v", got, want)
	}
	if s := want.String(); s != page {
		t.Errorf("prints\n%s\nwant\n%s", s, page)
	}
}

// TestLines checks that everything that a later error may be about knows where it stands.
func TestLines(t *testing.T) {
	s, err := Parse("pause.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(page, "\n")
	at := func(line int, want string) {
		t.Helper()
		if got := strings.TrimSpace(text[line-1]); got != want {
			t.Errorf("line %d is %q, want %q", line, got, want)
		}
	}
	for i := range s.Runs {
		r := s.Resolve(s.Runs[i])
		if head := strings.TrimPrefix(text[r.line-1], "-- "); !strings.HasPrefix(head, r.Lock+" ") {
			t.Errorf("run %s is at line %d, which is %q", r.ID(), r.line, head)
		}
		for _, lane := range r.Lanes {
			for i, step := range lane.Steps {
				at(lane.stepLine(i), step.String())
			}
		}
		for i, must := range r.Musts {
			at(r.mustLines[i], "must "+must.String())
		}
		for _, e := range r.Expect {
			at(e.line, e.String())
		}
		if r.Golden != "" {
			at(r.golden, "0.000s  c1       invoke  acquire")
		}
	}
}

// TestParseForgives checks that what is clear is accepted, and printed in the one canonical way.
func TestParseForgives(t *testing.T) {
	const loose = "#A title.\r\n" +
		"#  \r\n" +
		"# \r\n" +
		"# Prose. \r\n" +
		"#\r\n" +
		"must   c1  resumes after its lease ended\r\n" +
		"\r\n" +
		"client   c1\r\n" +
		"  acquire   within 0.5m \r\n" +
		"  pause 2m\r\n" +
		"\r\n" +
		"ttl 1m\r\n" +
		"--  single  ttl=1500000us   nodes=1 --\r\n" +
		"expect  lease  exclusion   ok\r\n" +
		"\r\n" +
		"client c2\r\n" +
		"  acquire\r\n" +
		"\r\n" +
		"   0.000s  as it is   \r\n" +
		"-- redlock nodes=3 --\r\n" +
		"\r\n" +
		"-- last nodes=1 --"
	const tidy = "# A title.\n#\n# Prose.\n\n" +
		"ttl 60s\nclient c1\n  acquire within 30s\n  pause 120s\nmust c1 resumes after its lease ended\n\n" +
		"-- single nodes=1 ttl=1500ms --\nclient c2\n  acquire\nexpect lease exclusion ok\n   0.000s  as it is   \n" +
		"-- redlock nodes=3 --\n-- last nodes=1 --\n"
	s, err := Parse("loose.txtar", []byte(loose))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != tidy {
		t.Errorf("prints\n%s\nwant\n%s", got, tidy)
	}
}

// TestDoc parses the example in the documentation of the package.
func TestDoc(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "//\n//\t# ")
	example, _, _ := strings.Cut("//\t# "+rest, "//\n// # The page")
	example = strings.ReplaceAll(strings.ReplaceAll(example, "//\t", ""), "//\n", "\n")
	s, err := Parse("doc.txtar", []byte(example))
	if err != nil {
		t.Fatalf("%v in\n%s", err, example)
	}
	if got := s.String(); got != example {
		t.Errorf("prints\n%s\nwant\n%s", got, example)
	}
}

func TestParseErrors(t *testing.T) {
	// Most mistakes are made in a line of this page; the others bring a page of their own.
	const head = "# A title.\n\nclient c1\n  acquire\n  pause 15s\n  write A\n  release\nclient c2\n  acquire\n"
	const run = "-- single nodes=3 --\n"
	const (
		steps      = "acquire, check, pause, read, release, sleep, until, write"
		faults     = "at, crash, cut, delay, drift, heal, hold, jump, on, pause, release, reset, restart, resume, slew, when"
		processes  = "c1, c2, n1, n2, n3, resource"
		properties = "lease exclusion, resource exclusion, expired on return, owner only, deadlock freedom"
		after      = "# A title.\n\nclient c1\n"
	)
	for _, c := range []struct{ name, text, want string }{
		{"empty file", "", "1: the file does not begin with its title, such as # A pause outlives the lease."},
		{"no title", "client c1\n  acquire\n" + run, "1: the file does not begin with its title, such as # A pause outlives the lease."},
		{"empty title", "#\n# Prose.\n", "1: the file does not begin with its title, such as # A pause outlives the lease."},
		{"title without stop", "# A title\n" + run, `1: the title "A title" does not end with a full stop`},
		{"no sections", head, "9: the file ends without a run; add a section such as -- single nodes=1 --"},
		{"truncated section line", head + "-- single nod", `10: malformed section line "-- single nod"; write -- LOCK nodes=N --`},
		{"section line without a name", head + "-- --\n", `10: malformed section line "-- --"; write -- LOCK nodes=N --`},
		{"section line of blanks", head + "--   --\n", `10: malformed section line "--   --"; write -- LOCK nodes=N --`},
		{"section line without its end", head + run + "   0.000s\n-- redlock nodes=5\n", `12: malformed section line "-- redlock nodes=5"; write -- LOCK nodes=N --`},
		{"NUL", "# A title.\n\x00", "2: not text: the line contains the control character U+0000"},
		{"lone CR", "# A title.\rclient c1\n", "1: not text: the line contains the control character U+000D"},
		{"invalid UTF-8", "# A title.\n\nclient \xff\n", "3: not text: the line is not valid UTF-8"},
		{"binary timeline", head + run + "\x1b[31m\n", "11: not text: the line contains the control character U+001B"},

		{"unknown setting", head + "tll 5s\n" + run, `10: unknown setting "tll"; the settings are client, must, nemesis, ttl (did you mean "ttl"?)`},
		{"ttl without duration", head + "ttl\n" + run, `10: cannot read "ttl"; write ttl DURATION`},
		{"bad ttl", head + "ttl 5\n" + run, `10: ttl: "5" is no duration; write a number and a unit, such as 15s, 1500ms or 2m`},
		{"zero ttl", head + "ttl 0s\n" + run, "10: ttl: duration 0s is no time at all; write more than 0s"},
		{"second ttl", head + "ttl 5s\nttl 6s\n" + run, "11: duplicate ttl; it is 5s already"},
		{"late prose", head + "# More.\n" + run, "10: prose belongs at the top of the file, without a gap"},
		{"expectation without a run", head + "expect lease exclusion violated\n" + run, "10: expect belongs to a run; put it below a section line such as -- single nodes=1 --"},
		{"step without a lane", head + "\n  release\n" + run, `11: "release" belongs to no lane; a blank line ends a lane, and only steps are indented`},
		{"tab in the head", head + "ttl\t5s\n" + run, "10: the line contains a tab; use spaces, two to indent a step"},

		{"client without a name", "# A title.\n\nclient\n  acquire\n" + run, `3: cannot read "client"; write client NAME`},
		{"client with a bad name", "# A title.\n\nclient C1\n  acquire\n" + run, `3: "C1" is no name of a process; a name is lower-case letters and digits, such as c1`},
		{"client named as a node", "# A title.\n\nclient n1\n  acquire\n" + run, "3: no client can be named n1; that is another process; write client c1"},
		{"client named as the nemesis", "# A title.\n\nclient nemesis\n  acquire\n" + run, "3: no client can be named nemesis; that is another process; write client c1"},
		{"nemesis on one line", head + "nemesis crash n1\n" + run, `10: cannot read "nemesis crash n1"; write nemesis, and each fault on an indented line below`},
		{"duplicate client", head + "client c1\n  acquire\n" + run, "10: duplicate client c1; the first is at line 3"},
		{"duplicate nemesis", head + run + "nemesis\n  heal\nnemesis\n  heal\n", "13: duplicate nemesis; the first is at line 11"},
		{"empty lane", head + "client c3\n" + run, "10: the lane of c3 has no steps"},
		{"empty lane in a run", head + run + "client c3\n", "11: the lane of c3 has no steps, and replaces none"},
		{"no client", "# A title.\n\n" + run + "expect lease exclusion ok\n", "3: run single has no client"},

		{"unknown step", after + "  acquire\n  puase 15s\n" + run, `5: unknown step "puase"; the steps are ` + steps + ` (did you mean "pause"?)`},
		{"fault in the lane of a client", after + "  crash n1\n" + run, `4: unknown step "crash"; the steps are ` + steps},
		{"unknown step in a run", head + run + "client c2\n  aquire\n", `12: unknown step "aquire"; the steps are ` + steps + ` (did you mean "acquire"?)`},
		{"step with too much", after + "  acquire 5s\n" + run, `4: cannot read "acquire 5s"; write acquire [within DURATION]`},
		{"step with too little", after + "  pause\n" + run, `4: cannot read "pause"; write pause DURATION`},
		{"bad duration", after + "  sleep 5sec\n" + run, `4: "5sec" is no duration; write a number and a unit, such as 15s, 1500ms or 2m`},
		{"negative duration", after + "  acquire within -5s\n" + run, "4: duration -5s is negative; write 0s or more"},
		{"long duration", after + "  pause 10000h\n" + run, "4: duration 10000h is too long; the limit is 31536000s"},
		{"bad value", after + "  write A!\n" + run, `4: "A!" is no value; a value is one word of letters, digits, dots and dashes, such as A`},
		{"tab before a step", after + "\tacquire\n" + run, "4: the line contains a tab; use spaces, two to indent a step"},
		{"three spaces before a step", after + "   acquire\n" + run, `4: "acquire" is not indented by two spaces`},
		{"one space before a step", after + "  acquire\n release\n" + run, `5: "release" is not indented by two spaces`},
		{"release of nothing", after + "  release\n" + run, "4: release before any acquire"},
		{"check of nothing", after + "  write A\n  check\n" + run, "5: check before any acquire"},
		{"until the past", after + "  until 12s\n  until 10s\n" + run, "5: until 10s goes back in time: it is 12s at the earliest"},
		{"until before a pause ends", after + "  until 5s\n  pause 10s\n  until 12s\n" + run, "6: until 12s goes back in time: it is 15s at the earliest"},

		{"unknown fault", head + "nemesis\n  crsh n1\n" + run, `11: unknown step "crsh"; the steps are ` + faults + ` (did you mean "crash"?)`},
		{"unknown moment", head + "nemesis\n  whne c1 acquired crash n1\n" + run, `11: unknown step "whne"; the steps are ` + faults + ` (did you mean "when"?)`},
		{"unknown fault at a time", head + "nemesis\n  at 5s haal\n" + run, `11: unknown fault "haal"; the faults are ` + strings.TrimSuffix(strings.TrimPrefix(faults, "at, "), ", when") + ` (did you mean "heal"?)`},
		{"bad fault", head + "nemesis\n  jump n1 5s\n" + run, `11: "5s" has no sign; write +11s for forward or -11s for back`},
		{"time without a fault", head + "nemesis\n  at 5s\n" + run, `11: cannot read "at 5s"; write at DURATION FAULT`},
		{"bad time", head + "nemesis\n  at noon heal\n" + run, `11: "noon" is no duration; write a number and a unit, such as 15s, 1500ms or 2m`},
		{"event without a fault", head + "nemesis\n  when c1 acquired\n" + run, `11: cannot read "when c1 acquired"; write when CLIENT EVENT [+DURATION] FAULT`},
		{"event without a word", head + "nemesis\n  when c1\n" + run, `11: cannot read "when c1"; write when CLIENT EVENT [+DURATION] FAULT`},
		{"event without a value", head + "nemesis\n  when c1 wrote\n" + run, `11: cannot read "when c1 wrote"; write when CLIENT EVENT [+DURATION] FAULT`},
		{"event and no time", head + "nemesis\n  when c1 acquired +0s heal\n" + run, "11: duration 0s is no time at all; write more than 0s"},
		{"unknown event", head + "nemesis\n  when c1 aquired heal\n" + run, `11: unknown event "aquired"; the events are acquired, acquires, paused, refused, released, releases, resumed, writes, wrote (did you mean "acquired"?)`},
		{"event of a bad name", head + "nemesis\n  when C1 acquired heal\n" + run, `11: "C1" is no name of a process; a name is lower-case letters and digits, such as c1`},
		{"event with a bad value", head + "nemesis\n  when c1 wrote A! heal\n" + run, `11: "A!" is no value; a value is one word of letters, digits, dots and dashes, such as A`},
		{"message to a stranger", head + "nemesis\n  on request SET c1->n9 hold\n" + run, `11: run single: unknown process "n9"; the processes are ` + processes},
		{"event of a stranger", head + "nemesis\n  when c3 acquired heal\n" + run, `11: run single: unknown client "c3"; the clients are c1, c2`},
		{"event of a node", head + "nemesis\n  when n1 acquired heal\n" + run, `11: run single: unknown client "n1"; the clients are c1, c2`},
		{"event of the probe", head + "nemesis\n  when probe acquired heal\n" + run, `11: run single: unknown client "probe"; the clients are c1, c2`},
		{"impossible write", head + "nemesis\n  when c1 wrote B heal\n" + run, "11: run single: c1 wrote B cannot happen; no step brings it about"},
		{"impossible release", head + "nemesis\n  when c2 releases heal\n" + run, "11: run single: c2 releases cannot happen; no step brings it about"},
		{"impossible pause", head + "nemesis\n  when c2 paused heal\n" + run, "11: run single: c2 paused cannot happen; no step brings it about"},

		{"unknown process", head + "nemesis\n  crash c3\n" + run, `11: run single: unknown process "c3"; the processes are ` + processes},
		{"fault on the probe", head + "nemesis\n  pause probe\n" + run, `11: run single: unknown process "probe"; the processes are ` + processes},
		{"unknown end of a link", head + "nemesis\n  hold c3->n1\n" + run, `11: run single: unknown process "c3"; the processes are ` + processes},
		{"unknown node", head + "nemesis\n  heal\n  cut c1-n4\n" + run, `12: run single: unknown process "n4"; the processes are ` + processes},
		{
			"node that one run lacks", head + "nemesis\n  at 1s crash n3\n" + run + "-- redlock nodes=2 label=small --\n",
			`11: run redlock/small: unknown process "n3"; the processes are c1, c2, n1, n2, resource`,
		},
		{"client that restarts", head + "nemesis\n  when c1 acquired restart c1\n" + run, "11: run single: c1 is a client, and a crashed client is gone for good; only servers restart"},
		{"link between clients", head + "nemesis\n  cut c1-c2\n" + run, "11: run single: nothing travels on c1-c2; a link joins a client and a server"},
		{"link between servers", head + "nemesis\n  cut n1->resource\n" + run, "11: run single: nothing travels on n1->resource; a link joins a client and a server"},
		{"request the wrong way", head + "nemesis\n  on request SET n1->c1 hold\n" + run, "11: run single: requests go from a client to a server, and replies back; write on request SET c1->n1 hold"},
		{"reply the wrong way", head + "nemesis\n  on reply SET c1->n1 hold\n" + run, "11: run single: requests go from a client to a server, and replies back; write on reply SET n1->c1 hold"},

		{"must about a stranger", head + "must c3 acquires\n" + run, `10: run single: unknown process "c3"; the processes are ` + processes},
		{"must about an unknown node", head + run + "must c1 holds exactly n1 n2 n4\n", `11: run single: unknown process "n4"; the processes are ` + processes},
		{"must about no write", head + "must write B arrives after its lease ended\n" + run, "10: run single: no client writes B"},

		{"lock with a bad name", head + "-- Single nodes=1 --\n", `10: "Single" is no name of a lock; a name is lower-case letters, digits and dashes, such as redlock`},
		{"run without nodes", head + "-- single --\n", "10: run single does not say how many nodes it has; write -- single nodes=1 --"},
		{"run without a key", head + "-- single 1 --\n", `10: "1" is no setting; write KEY=VALUE`},
		{"run with an unknown key", head + "-- single node=1 --\n", `10: unknown setting "node"; the settings are label, nodes, resource, ttl (did you mean "nodes"?)`},
		{"run with a key twice", head + "-- single nodes=1 nodes=2 --\n", "10: duplicate nodes"},
		{"no nodes", head + "-- single nodes=0 --\n", "10: nodes=0: a run has 1 to 9 nodes"},
		{"too many nodes", head + "-- single nodes=10 --\n", "10: nodes=10: a run has 1 to 9 nodes"},
		{"unknown resource", head + "-- single nodes=1 resource=fence --\n", `10: unknown resource "fence"; the resources are plain, fenced (did you mean "fenced"?)`},
		{"bad label", head + "-- single nodes=1 label=a_b --\n", "10: label=a_b: a label is lower-case letters, digits and dashes"},
		{"bad ttl of a run", head + "-- single nodes=1 ttl=5 --\n", `10: ttl: "5" is no duration; write a number and a unit, such as 15s, 1500ms or 2m`},
		{"duplicate run", head + run + run, "11: duplicate run single; the first is at line 10; a label=NAME tells them apart"},

		{"unknown property", head + run + "expect leas exclusion violated\n", `11: unknown property "leas exclusion"; the properties are ` + properties + ` (did you mean "lease exclusion"?)`},
		{"unknown outcome", head + run + "expect lease exclusion violatd\n", `11: unknown outcome "violatd"; the outcomes are ok, violated, unknown (did you mean "violated"?)`},
		{"expectation of nothing", head + run + "expect violated\n", `11: cannot read "expect violated"; write expect PROPERTY violated, ok or unknown`},
		{"unknown assumption", head + run + "expect lease exclusion violated: durable node\n", `11: unknown assumption "durable node"; the assumptions are bounded pause, bounded clock error, bounded delay, durable nodes, none (did you mean "durable nodes"?)`},
		{"assumption of nothing", head + run + "expect lease exclusion violated:\n", `11: cannot read "expect lease exclusion violated:"; write expect lease exclusion violated: ASSUMPTION`},
		{"assumption without an outcome", head + run + "expect lease exclusion: none\n", `11: unknown property "lease"; the properties are ` + properties},
		{"assumption of what is ok", head + run + "expect lease exclusion ok: none\n", "11: only a violation has a broken assumption; write expect lease exclusion ok"},
		{"duplicate expectation", head + run + "expect owner only ok\nexpect owner only violated\n", "12: duplicate expectation for owner only; the first is at line 11"},

		{"misspelt expectation", head + run + "expcet lease exclusion violated\n", `11: unknown setting "expcet"; the settings are client, expect, must, nemesis (did you mean "expect"?)`},
		{"late expectation", head + run + "   0.000s  c1\nverdict: SAFE\nexpect lease exclusion violated\n", "13: expect belongs before the timeline, which begins at line 11"},
		{"ttl in a run", head + run + "ttl 5s\n", "11: the ttl of a run stands in its section line; write -- single nodes=3 ttl=DURATION --"},
		{"prose in a run", head + run + "# A control.\n", "11: prose belongs at the top of the file"},
		{"step without a lane in a run", head + run + "client c2\n  acquire\n\n  release\n", `14: "release" belongs to no lane, and to no timeline, which begins with a time`},
		{"tab in a run", head + run + "client\tc2\n", "11: the line contains a tab; use spaces, two to indent a step"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("pause.txtar", []byte(c.text))
			if err == nil {
				t.Fatalf("no error; got\n%s", s)
			}
			if got, want := err.Error(), "pause.txtar:"+c.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			var at *Error
			if !errors.As(err, &at) || at.File != "pause.txtar" || at.Line == 0 {
				t.Errorf("%#v is no *Error with a place", err)
			}
			if s != nil {
				t.Error("a scenario beside the error")
			}
		})
	}
}

// TestMustError leaves the words to the checker, whose forms they are.
func TestMustError(t *testing.T) {
	for text, want := range map[string]string{
		"# A title.\n\nclient c1\n  acquire\nmust c1 wins\n-- single nodes=1 --\n": `pause.txtar:5: must: unknown must "c1 wins"`,
		"# A title.\n\nclient c1\n  acquire\n-- single nodes=1 --\nmust c1 wins\n": `pause.txtar:6: must: unknown must "c1 wins"`,
	} {
		_, err := Parse("pause.txtar", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s ...", err, want)
		} else if cause := errors.Unwrap(err); cause == nil || strings.Contains(cause.Error(), "pause.txtar") {
			t.Errorf("the cause is %v, want it without the place", cause)
		}
	}
}

func TestResolve(t *testing.T) {
	s, err := Parse("pause.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	first, second, third := s.Resolve(s.Runs[0]), s.Resolve(s.Runs[1]), s.Resolve(s.Runs[2])

	if first.TTL != 9*time.Second || second.TTL != 5*time.Second {
		t.Errorf("TTLs are %s and %s, want 9s and 5s", first.TTL, second.TTL)
	}
	if got := (&Scenario{}).Resolve(Run{}).TTL; got != DefaultTTL {
		t.Errorf("TTL is %s, want the default", got)
	}
	if first.Resource != Plain || second.Resource != Fenced || third.Resource != Plain {
		t.Errorf("resources are %s, %s and %s", first.Resource, second.Resource, third.Resource)
	}
	if !reflect.DeepEqual(first.Lanes, s.Lanes) || !reflect.DeepEqual(first.Musts, s.Musts) {
		t.Error("a run without lanes and musts has not those of the scenario")
	}
	want := []Lane{s.Lanes[0], s.Runs[1].Lanes[0], s.Runs[1].Lanes[1], s.Runs[1].Lanes[2]}
	if !reflect.DeepEqual(second.Lanes, want) {
		t.Errorf("lanes are\n%v\nwant\n%v", second.Lanes, want)
	}
	if !reflect.DeepEqual(second.Musts, s.Runs[1].Musts) {
		t.Errorf("musts are %v, want only those of the run", second.Musts)
	}
	if s.Lanes[1].Steps == nil || len(s.Lanes) != 3 {
		t.Error("Resolve changed the scenario")
	}
	if got := strings.Join(first.NodeNames(), " "); got != "n1 n2 n3" {
		t.Errorf("nodes are %s", got)
	}
	if first.ID() != "single" || second.ID() != "redlock/too-short" {
		t.Errorf("runs are %s and %s", first.ID(), second.ID())
	}
	for p, want := range map[checker.Property]checker.Status{
		checker.LeaseExclusion:    checker.Violated,
		checker.DeadlockFreedom:   checker.Unknown,
		checker.OwnerOnly:         checker.OK,
		checker.ResourceExclusion: checker.OK, // not named
	} {
		if got := second.Expected(p); got != want {
			t.Errorf("%s is expected to be %s, want %s", p, got, want)
		}
	}
}

// TestEqual changes one thing at a time: the copy must differ.
func TestEqual(t *testing.T) {
	for _, change := range [][2]string{
		{"A pause", "A stop"},
		{"c1 obtains", "c1 takes"},
		{"ttl 9s", "ttl 8s"},
		{"ttl 9s\n", ""},
		{"  check\n", ""},
		{"pause 15s", "pause 16s"},
		{"  on reply SET n3->c1 hold\n", "  on reply SET n3->c1 reset\n"},
		{"when c1 acquired +3s", "when c1 acquired"},
		{"must write A arrives after its lease ended\n", ""},
		{"-- single nodes=3 --", "-- single nodes=4 --"},
		{"label=too-short", "label=short"},
		{"resource=fenced", "resource=plain"},
		{" resource=plain", ""},
		{"ttl=5s", "ttl=6s"},
		{"at 4s restart n3 empty", "at 4s restart n3"},
		{"must n3 restarts before the lease of c1 ended", "must n3 restarts after the lease of c1 ended"},
		{"expect owner only ok\n", ""},
		{"expect owner only ok\n", "expect owner only unknown\n"},
		{"violated: bounded delay\n", "violated\n"},
		{"violated: bounded delay\n", "violated: durable nodes\n"},
		{"verdict: UNSAFE", "verdict: SAFE"},
	} {
		changed := strings.Replace(page, change[0], change[1], 1)
		if changed == page {
			t.Fatalf("the page does not contain %q", change[0])
		}
		s, err := Parse("pause.txtar", []byte(page))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("pause.txtar", []byte(changed))
		if err != nil {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		} else if s.Equal(c) {
			t.Errorf("a page with %q for %q is the same", change[1], change[0])
		}
	}
}

// The documentation of the language lists every form of a must.
func TestDocumentedMusts(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, err = checker.ParseMust("")
	_, forms, ok := strings.Cut(err.Error(), "the musts are ")
	if !ok {
		t.Fatalf("the error does not list the forms: %v", err)
	}
	for form := range strings.SplitSeq(forms, ", ") {
		if !strings.Contains(string(doc), "//\t"+form) {
			t.Errorf("doc.go does not list %q", form)
		}
	}
}

// An expectation that names an assumption wants it from each violation of the property, and from no other property.
func TestUnexpectedAssumption(t *testing.T) {
	found := func(p checker.Property, a checker.Assumption) checker.Violation {
		return checker.Violation{Property: p, Assumption: a, What: "it broke"}
	}
	lease, owner := checker.LeaseExclusion, checker.OwnerOnly
	for _, c := range []struct {
		name       string
		assumption checker.Assumption
		violations []checker.Violation
		want       string
	}{
		{"as expected", checker.DurableNodes, []checker.Violation{found(owner, checker.None), found(lease, checker.DurableNodes)}, ""},
		{"whatever it is", "", []checker.Violation{found(lease, checker.BoundedPause)}, ""},
		{"another", checker.DurableNodes, []checker.Violation{found(owner, checker.None), found(lease, checker.BoundedClockError)},
			"lease exclusion: expected broken durable nodes, got bounded clock error"},
		{"the second is another", checker.DurableNodes, []checker.Violation{found(lease, checker.DurableNodes), found(lease, checker.BoundedClockError)},
			"lease exclusion: expected broken durable nodes, got bounded clock error in violation 2: it broke"},
		{"the lock is not at fault", checker.None, []checker.Violation{found(lease, checker.BoundedDelay)},
			"lease exclusion: expected no broken assumption, got bounded delay"},
		{"the lock is at fault", checker.BoundedDelay, []checker.Violation{found(lease, checker.None)},
			"lease exclusion: expected broken bounded delay, got none"},
	} {
		o := &Outcome{
			Run: Run{Expect: []Expectation{{Property: lease, Status: checker.Violated, Assumption: c.assumption}}},
			Result: checker.Result{
				Statuses:   []checker.PropertyStatus{{Property: lease, Status: checker.Violated}},
				Violations: c.violations,
			},
		}
		if got := strings.Join(o.Unexpected(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
