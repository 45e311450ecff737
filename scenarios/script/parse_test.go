package script

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/sim/history"
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
  acquire within 20s every 4s
  write B
  sleep 1500ms
  release
nemesis
  cut c1-n3
  at 1500ms jump n3 +11s
  when c1 acquired crash n2
  when c1 acquired +3s restart n2 empty
  when c2 wrote B #2 heal
  on reply SET #3 n3->c1 hold
  when c1 acquired on request write c1->resource delay 90s
must c1 resumes after its lease ended
must write A arrives after its lease ended
report round trips

-- single nodes=3 --
expect resource exclusion violated
   0.000s  c1       invoke  acquire
   0.003s  c1       ok      acquire         valid until 10.000s

verdict: UNSAFE
  lease exclusion     ok
-- redlock nodes=5 resource=fenced label=too-short ttl=5s seed=7 checksum=0123456789abcdef --
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
-- single nodes=1 replicas=2 sentinels=3 down-after=5s min-replicas=1 persistence=aof-everysec resource=check-and-set label=monitored --
client c1
  acquire
  enter
  extend
  extend 20s
  write A
  write A blind
  read
  update more
  repeat 20 acquire within 1s
  release
  stay
nemesis
  stop n1
  cut s1-r2
  delay r1->n1 1s
  at 1s crash n1 power
  at 2s promote r1
  at 3s restart n1
  at 4s follow n1 r1
  when c1 extended crash s2
  when c1 updates more restart s2
  when c1 entered +1s reset c1-s3
  when c1 lost heal
  when r1 promoted heal s1-s2
  when s1 sdown n1 pause s1 1s
  when s1 elected cut s1-s3
report unavailability
report round trips
-- single nodes=1 replicas=1 shards=3 resource=counter label=cluster --
client c1
  increment
  repeat 100000 increment within 3s
client c2
  increment
nemesis
  cut p2-n1
  on request PING p2->r1 hold
  when c1 incremented hold p3->p2
must c1 acquires
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
				Until{Time: 12 * time.Second}, Acquire{Within: 20 * time.Second, Every: 4 * time.Second}, Write{Value: "B"},
				Sleep{For: 1500 * time.Millisecond}, Release{},
			}},
			{Process: Nemesis, Steps: []Step{
				AtStart{Fault: history.Cut{Link: history.Link{From: "c1", To: "n3", Both: true}}},
				At{Time: 1500 * time.Millisecond, Fault: history.Jump{Process: "n3", By: 11 * time.Second}},
				When{Event: Event{Process: "c1", What: Acquired}, Fault: history.Crash{Process: "n2"}},
				When{Event: Event{Process: "c1", What: Acquired}, After: 3 * time.Second, Fault: history.Restart{Process: "n2", Empty: true}},
				When{Event: Event{Process: "c2", What: Wrote, Nth: 2, Value: "B"}, Fault: history.Heal{}},
				AtStart{Fault: history.Chosen{Reply: true, What: "SET", Nth: 3, Link: history.Link{From: "n3", To: "c1"}, Action: history.HoldMessage}},
				When{Event: Event{Process: "c1", What: Acquired}, Fault: history.Chosen{
					What: "write", Link: history.Link{From: "c1", To: "resource"}, Action: history.DelayMessage, By: 90 * time.Second,
				}},
			}},
		},
		Musts:   []checker.Must{must("c1 resumes after its lease ended"), must("write A arrives after its lease ended")},
		Reports: []checker.Quantity{"round trips"},
		Runs: []Section{
			{
				Lock: "single", Nodes: 3,
				Expect: []Expectation{{Property: checker.ResourceExclusion, Status: checker.Violated}},
				Golden: "   0.000s  c1       invoke  acquire\n" +
					"   0.003s  c1       ok      acquire         valid until 10.000s\n\n" +
					"verdict: UNSAFE\n  lease exclusion     ok\n",
			},
			{
				Lock: "redlock", Label: "too-short", Nodes: 5, Resource: Fenced, TTL: 5 * time.Second, Seed: 7, Checksum: "0123456789abcdef",
				Lanes: []Lane{
					{Process: "c2"},
					{Process: Nemesis, Steps: []Step{At{Time: 4 * time.Second, Fault: history.Restart{Process: "n3", Empty: true}}}},
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
			{
				Lock: "single", Nodes: 1, Replicas: 2, Sentinels: 3, DownAfter: 5 * time.Second, MinReplicas: 1,
				Persistence: "aof-everysec", Resource: CheckAndSet, Label: "monitored",
				Lanes: []Lane{
					{Process: "c1", Steps: []Step{
						Acquire{}, Enter{}, Extend{}, Extend{TTL: 20 * time.Second}, Write{Value: "A"}, Write{Value: "A", Blind: true}, Read{}, Update{Word: "more"},
						Repeat{N: 20, Step: Acquire{Within: time.Second}}, Release{}, Stay{},
					}},
					{Process: Nemesis, Steps: []Step{
						AtStart{Fault: history.Stop{Process: "n1"}},
						AtStart{Fault: history.Cut{Link: history.Link{From: "s1", To: "r2", Both: true}}},
						AtStart{Fault: history.Delay{Link: history.Link{From: "r1", To: "n1"}, By: time.Second}},
						At{Time: 1 * time.Second, Fault: history.Crash{Process: "n1", Power: true}},
						At{Time: 2 * time.Second, Fault: history.Promote{Process: "r1"}},
						At{Time: 3 * time.Second, Fault: history.Restart{Process: "n1"}},
						At{Time: 4 * time.Second, Fault: history.Follow{Process: "n1", Primary: "r1"}},
						When{Event: Event{Process: "c1", What: Extended}, Fault: history.Crash{Process: "s2"}},
						When{Event: Event{Process: "c1", What: Updates, Value: "more"}, Fault: history.Restart{Process: "s2"}},
						When{Event: Event{Process: "c1", What: Entered}, After: time.Second, Fault: history.Reset{Link: history.Link{From: "c1", To: "s3", Both: true}}},
						When{Event: Event{Process: "c1", What: Lost}, Fault: history.Heal{}},
						When{Event: Event{Process: "r1", What: Promoted}, Fault: history.Heal{Link: history.Link{From: "s1", To: "s2", Both: true}}},
						When{Event: Event{Process: "s1", What: Sdown, Value: "n1"}, Fault: history.Pause{Process: "s1", For: time.Second}},
						When{Event: Event{Process: "s1", What: Elected}, Fault: history.Cut{Link: history.Link{From: "s1", To: "s3", Both: true}}},
					}},
				},
				Reports: []checker.Quantity{"unavailability", "round trips"},
			},
			{
				Lock: "single", Nodes: 1, Replicas: 1, Shards: 3, Resource: Counter, Label: "cluster",
				Lanes: []Lane{
					{Process: "c1", Steps: []Step{Increment{}, Repeat{N: 100000, Step: Increment{Within: 3 * time.Second}}}},
					{Process: "c2", Steps: []Step{Increment{}}},
					{Process: Nemesis, Steps: []Step{
						AtStart{Fault: history.Cut{Link: history.Link{From: "p2", To: "n1", Both: true}}},
						AtStart{Fault: history.Chosen{What: "PING", Link: history.Link{From: "p2", To: "r1"}, Action: history.HoldMessage}},
						When{Event: Event{Process: "c1", What: Incremented}, Fault: history.Hold{Link: history.Link{From: "p3", To: "p2"}}},
					}},
				},
				Musts: []checker.Must{must("c1 acquires")},
			},
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

// A name of which no file or directory can be made is refused, and so is that of a hidden one.
func TestParseRefusesNames(t *testing.T) {
	for _, name := range []string{"...txtar", ".txtar", "a/..txtar", ".hidden.txtar", "", ".."} {
		if s, err := Parse(name, []byte(page)); err == nil || !strings.HasPrefix(err.Error(), name+": the name of a scenario") {
			t.Errorf("%q: %v, %v", name, s, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	// Most mistakes are made in a line of this page; the others bring a page of their own.
	const head = "# A title.\n\nclient c1\n  acquire\n  pause 15s\n  write A\n  release\nclient c2\n  acquire\n"
	const run = "-- single nodes=3 --\n"
	const (
		processes = "c1, c2, n1, n2, n3, resource"
		after     = "# A title.\n\nclient c1\n"
		when      = "when PROCESS EVENT [#NUMBER] [+DURATION] FAULT"
		group     = "-- single nodes=1 replicas=2 sentinels=3 --\n"
	)
	list := func(words []string) string { return strings.Join(words, ", ") }
	steps, events, faults := list(sorted(stepForms)), list(WordsOf(whats)), list(history.FaultVerbs())
	moments := "at, " + faults + ", when" // sorted
	properties, reports := list(WordsOf(checker.Properties())), list(WordsOf(checker.Quantities()))
	for _, c := range []struct{ name, text, want string }{
		{"empty file", "", "1: the file must begin with its title, such as # A pause outlives the lease."},
		{"no title", "client c1\n  acquire\n" + run, "1: the file must begin with its title, such as # A pause outlives the lease."},
		{"empty title", "#\n# Prose.\n", "1: the file must begin with its title, such as # A pause outlives the lease."},
		{"no title, and more", "client c1\n  foo\n" + run, "1: the file must begin with its title, such as # A pause outlives the lease.\npause.txtar:2: unknown step \"foo\"; the steps are " + steps},
		{"title without stop", "# A title\n" + run, `1: the title "A title" must end with a full stop`},
		{"no sections", head, "9: the file ends without a run; add a last line with a lock and its number of nodes, such as -- single nodes=1 -- or -- redlock nodes=5 --"},
		{"truncated section line", head + "-- single nod", `10: malformed section line "-- single nod"; write -- LOCK nodes=N --`},
		{"section line without a name", head + "-- --\n", `10: malformed section line "-- --"; write -- LOCK nodes=N --`},
		{"section line of blanks", head + "--   --\n", `10: malformed section line "--   --"; write -- LOCK nodes=N --`},
		{"section line without its end", head + run + "   0.000s\n-- redlock nodes=5\n", `12: malformed section line "-- redlock nodes=5"; write -- LOCK nodes=N --`},
		{"NUL", "# A title.\n\x00", "2: not text: the line contains the control character U+0000"},
		{"lone CR", "# A title.\rclient c1\n", "1: not text: the line contains the control character U+000D"},
		{"invalid UTF-8", "# A title.\n\nclient \xff\n", "3: not text: the line is not valid UTF-8"},
		{"binary timeline", head + run + "\x1b[31m\n", "11: not text: the line contains the control character U+001B"},

		{"unknown setting", head + "tll 5s\n" + run, `10: unknown setting "tll"; the settings are client, must, nemesis, report, sim only:, speed, sweep, ttl (did you mean "ttl"?)`},
		{"step that is not indented", after + "  acquire\nwrite A\n" + run, `5: "write A" is a step of a client; it must be indented by two spaces`},
		{"sim only without a reason", head + "sim only\n" + run, `10: cannot read "sim only"; write sim only: WHY`},
		{"duplicate sim only", head + "sim only: a\nsim only: b\n" + run, `11: duplicate sim only; it is said already: a`},
		{"sweep of nothing", head + "sweep\n" + run, "10: a sweep must name kinds of perturbations: delay, lose, slow, cut, partition, late-write, pause, die, stall, crash, empty, failover, drift, stray, jump, client-jump"},
		{"sweep of what there is not", head + "sweep delays\n" + run, `10: unknown kind "delays"; the kinds are delay, lose, slow, cut, partition, late-write, pause, die, stall, crash, empty, failover, drift, stray, jump, client-jump (did you mean "delay"?)`},
		{"sweep of one kind twice", head + "sweep delay delay\n" + run, "10: delay is named twice"},
		{"duplicate sweep", head + "sweep delay slow\nsweep lose\n" + run, "11: duplicate sweep; it is delay slow already"},
		{"speed of nothing", head + "speed 0\n" + run, `10: speed 0: write a whole number from 1 to 100, by which durations may be divided on real servers`},
		{"speed without number", head + "speed\n" + run, `10: cannot read "speed"; write speed NUMBER`},
		{"duplicate speed", head + "speed 5\nspeed 2\n" + run, `11: duplicate speed; it is 5 already`},
		{"ttl without duration", head + "ttl\n" + run, `10: cannot read "ttl"; write ttl DURATION`},
		{"bad ttl", head + "ttl 5\n" + run, `10: ttl: "5" must be a duration such as 15s, 1500ms or 2m`},
		{"zero ttl", head + "ttl 0s\n" + run, "10: ttl: duration 0s is too short; write more than 0s"},
		{"negative ttl", head + "ttl -1s\n" + run, "10: ttl: duration -1s is too short; write more than 0s"},
		{"second ttl", head + "ttl 5s\nttl 6s\n" + run, "11: duplicate ttl; it is 5s already"},
		{"late prose", head + "# More.\n" + run, "10: prose belongs at the top of the file, without a gap"},
		{"expectation without a run", head + "expect lease exclusion violated\n" + run, "10: expect belongs to a run; put it below a section line such as -- single nodes=1 --"},
		{"fault that begins with a time", head + "\nnemesis\n  500ms cut c1-n1\n" + run, `12: "500ms cut c1-n1" must begin with a word; write "at" before the time of a fault: at 500ms crash n1`},
		{"step without a lane", head + "\n  release\n" + run, `11: "release" belongs to no lane; a blank line ends a lane, and only steps are indented`},
		{"tab in the head", head + "ttl\t5s\n" + run, "10: the line contains a tab; use spaces, two to indent a step"},

		{"client without a name", "# A title.\n\nclient\n  acquire\n" + run, `3: cannot read "client"; write client NAME`},
		{"client with a bad name", "# A title.\n\nclient C1\n  acquire\n" + run, `3: "C1" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"client named as a node", "# A title.\n\nclient n1\n  acquire\n" + run, "3: no client can be named n1; that is another process; write client c1"},
		{"client named as the network", "# A title.\n\nclient network\n  acquire\n" + run, "3: no client can be named network; that is another process; write client c1"},
		{"client named as the nemesis", "# A title.\n\nclient nemesis\n  acquire\n" + run, "3: no client can be named nemesis; that is another process; write client c1"},
		{"nemesis on one line", head + "nemesis crash n1\n" + run, `10: cannot read "nemesis crash n1"; write nemesis, and each fault on an indented line below`},
		{"duplicate client", head + "client c1\n  acquire\n" + run, "10: duplicate client c1; the first is at line 3"},
		{"duplicate nemesis", head + run + "nemesis\n  heal\nnemesis\n  heal\n", "13: duplicate nemesis; the first is at line 11"},
		{"empty lane", head + "client c3\n" + run, "10: the lane of c3 has no steps; each stands on a line of its own, indented by two spaces"},
		{"empty lane in a run", head + run + "client c3\n", "11: the lane of c3 has no steps, and there is no lane for it to replace"},
		{"no client", "# A title.\n\n" + run + "expect lease exclusion ok\n", "3: run single has no client"},

		{"unknown step", after + "  acquire\n  puase 15s\n" + run, `5: unknown step "puase"; the steps are ` + steps + ` (did you mean "pause"?)`},
		{"fault in the lane of a client", after + "  crash n1\n" + run, `4: unknown step "crash"; the steps are ` + steps},
		{"unknown step in a run", head + run + "client c2\n  aquire\n", `12: unknown step "aquire"; the steps are ` + steps + ` (did you mean "acquire"?)`},
		{"step with too much", after + "  acquire 5s\n" + run, `4: cannot read "acquire 5s"; write acquire [for DURATION] [within DURATION [every DURATION]] [cancelled after DURATION]`},
		{"acquire for a part of a millisecond", after + "  acquire for 1500us\n" + run, "4: acquire for 1500µs: write whole milliseconds"},
		{"acquire for longer than the TTL", after + "  acquire for 11s\n" + run, `4: run single: "acquire for 11s" asks for more than the TTL of the run, which is 10s; write ttl 11s, or more`},
		{"step with too little", after + "  pause\n" + run, `4: cannot read "pause"; write pause DURATION`},
		{"bad duration", after + "  sleep 5sec\n" + run, `4: "5sec" must be a duration such as 15s, 1500ms or 2m`},
		{"negative duration", after + "  acquire within -5s\n" + run, "4: duration -5s is too short; write more than 0s"},
		{"negative pause", after + "  pause -1s\n" + run, "4: duration -1s is too short; write more than 0s"},
		{"negative sleep", after + "  sleep -1s\n" + run, "4: duration -1s is too short; write more than 0s"},
		{"until before the start", after + "  until -1s\n" + run, "4: duration -1s is too short; write more than 0s"},
		{"acquire for a negative time", after + "  acquire for -1s\n" + run, "4: duration -1s is too short; write more than 0s"},
		{"acquire cancelled before it began", after + "  acquire cancelled after -1s\n" + run, "4: duration -1s is too short; write more than 0s"},
		{"extension by a negative time", after + "  acquire\n  extend -1s\n" + run, "5: duration -1s is too short; write more than 0s"},
		{"fault before the start", head + "nemesis\n  at -1s heal\n" + run, "11: duration -1s is negative; write 0s or more"},
		{"fault before the event", head + "nemesis\n  when c1 acquired +-1s heal\n" + run, "11: duration -1s is too short; write more than 0s"},
		{"long duration", after + "  pause 10000h\n" + run, "4: duration 10000h is too long; the limit is 8760h"},
		{"bad value", after + "  write A!\n" + run, `4: "A!" is not a value; a value has only letters, digits and . _ -, and begins with a letter or a digit, such as A`},
		{"tab before a step", after + "\tacquire\n" + run, "4: the line contains a tab; use spaces, two to indent a step"},
		{"three spaces before a step", after + "   acquire\n" + run, `4: "acquire" is not indented by two spaces`},
		{"one space before a step", after + "  acquire\n release\n" + run, `5: "release" is not indented by two spaces`},
		{"update of nothing", after + "  update\n" + run, `4: cannot read "update"; write update WORD`},
		{"update with two words", after + "  update A B\n" + run, `4: cannot read "update A B"; write update WORD`},
		{"write with a wrong word", after + "  write A blindly\n" + run, `4: cannot read "write A blindly"; write write VALUE [blind]`},
		{"increment by a number", after + "  increment 5\n" + run, `4: cannot read "increment 5"; write increment [within DURATION]`},
		{"extension by two times", after + "  acquire\n  extend 5s 6s\n" + run, `5: cannot read "extend 5s 6s"; write extend [DURATION]`},
		{"extension by less than a millisecond", after + "  acquire\n  extend 1500us\n" + run, "5: extend 1500µs: write whole milliseconds"},
		{"extension by no time", after + "  acquire\n  extend 0s\n" + run, "5: duration 0s is too short; write more than 0s"},
		{"entry under a name", after + "  enter A\n" + run, `4: cannot read "enter A"; write enter`},
		{"repeat of nothing", after + "  repeat 5\n" + run, `4: cannot read "repeat 5"; write repeat NUMBER STEP`},
		{"repeat without a number", after + "  repeat acquire within 5s\n" + run, `4: cannot repeat "acquire" times; write a number from 1 to 100000`},
		{"repeat never", after + "  repeat 0 acquire\n" + run, `4: cannot repeat "0" times; write a number from 1 to 100000`},
		{"repeat too often", after + "  repeat 100001 acquire\n" + run, `4: cannot repeat "100001" times; write a number from 1 to 100000`},
		{"repeat of a mistake", after + "  repeat 5 aquire\n" + run, `4: unknown step "aquire"; the steps are ` + steps + ` (did you mean "acquire"?)`},
		{"repeat of a repeat", after + "  repeat 5 repeat 5 acquire\n" + run, `4: cannot repeat "repeat 5 acquire": a repeat cannot contain another`},
		{"repeat of until", after + "  repeat 5 until 5s\n" + run, `4: cannot repeat "until 5s": it does nothing the second time`},
		{"repeat of stay", after + "  repeat 5 stay\n" + run, `4: cannot repeat "stay": it is the last step of a lane`},
		{"lock without a name", after + "  lock\n" + run, `4: cannot read "lock"; write lock NAME`},
		{"lock with a bad name", after + "  lock a*b\n" + run, `4: "a*b" is not the name of a lock; a name has only letters, digits and . : _ / -, and begins with a letter or a digit, such as stock:7`},
		{"repeated lock", after + "  repeat 2 lock other\n" + run, `4: cannot repeat "lock other": it does nothing the second time`},
		{"acquire with half a cancellation", after + "  acquire cancelled 5s\n" + run, `4: cannot read "acquire cancelled 5s"; write acquire [for DURATION] [within DURATION [every DURATION]] [cancelled after DURATION]`},
		{"acquire with a bad cancellation", after + "  acquire cancelled after 0s\n" + run, "4: duration 0s is too short; write more than 0s"},
		{"acquire every, without within", after + "  acquire every 1s\n" + run, `4: cannot read "acquire every 1s"; write acquire [for DURATION] [within DURATION [every DURATION]] [cancelled after DURATION]`},
		{"step after stay", after + "  stay\n  acquire\n" + run, "5: acquire after stay; put stay last"},
		{"stay for a time", after + "  stay 5s\n" + run, `4: cannot read "stay 5s"; write sleep 5s to wait that long; stay stands alone, as the last step, and keeps the client running to the end`},
		{"stay for something", after + "  stay here\n" + run, `4: cannot read "stay here"; write stay`},
		{"repeat of a fault", head + "nemesis\n  repeat 5 heal\n" + run, `11: unknown step "repeat"; the steps are ` + moments + ` (did you mean "reset"?)`},
		{"extend of nothing", after + "  extend\n" + run, "4: extend before any acquire"},
		{"entry under nothing", after + "  enter\n" + run, "4: enter before any acquire"},
		{"repeated release of nothing", after + "  repeat 2 release\n" + run, "4: repeat 2 release before any acquire"},
		{"until before repeated pauses end", after + "  repeat 3 pause 10s\n  until 29s\n" + run, "5: until 29s goes back in time: it is 30s at the earliest"},
		{"pauses without end", after + "  repeat 100000 pause 8760h\n" + run, "4: repeat 100000 pause 31536000s takes the lane beyond 3153600000s"},
		{"increment of text", head + "client c3\n  increment\n" + run, `11: run single: "increment" needs resource=counter; this is a plain one`},
		{"repeated increment of text", head + "client c3\n  repeat 5 increment\n" + run, `11: run single: "repeat 5 increment" needs resource=counter; this is a plain one`},
		{"write to a counter", head + "-- single nodes=1 resource=counter --\n", `6: run single: "write A" needs a resource that holds text; a counter is for increments`},
		{"update of a counter", after + "  update A\n-- single nodes=1 resource=counter --\n", `4: run single: "update A" needs a resource that holds text; a counter is for increments`},
		{"entry without a mark", after + "  acquire\n  enter\n-- single nodes=1 resource=fenced --\n", `5: run single: "enter" needs resource=check-and-set; a fenced one has no mark`},
		{"blind write without a mark", after + "  write A blind\n-- single nodes=1 resource=versioned --\n", `4: run single: "write A blind" needs resource=check-and-set; a versioned one has no mark`},
		{"release of nothing", after + "  release\n" + run, "4: release before any acquire"},
		{"check of nothing", after + "  write A\n  check\n" + run, "5: check before any acquire"},
		{"until the past", after + "  until 12s\n  until 10s\n" + run, "5: until 10s goes back in time: it is 12s at the earliest"},
		{"until before a pause ends", after + "  until 5s\n  pause 10s\n  until 12s\n" + run, "6: until 12s goes back in time: it is 15s at the earliest"},

		{"unknown fault", head + "nemesis\n  crsh n1\n" + run, `11: unknown step "crsh"; the steps are ` + moments + ` (did you mean "crash"?)`},
		{"unknown moment", head + "nemesis\n  whne c1 acquired crash n1\n" + run, `11: unknown step "whne"; the steps are ` + moments + ` (did you mean "when"?)`},
		{"unknown fault at a time", head + "nemesis\n  at 5s haal\n" + run, `11: unknown fault "haal"; the faults are ` + faults + ` (did you mean "heal"?)`},
		{"bad fault", head + "nemesis\n  jump n1 5s\n" + run, `11: "5s" has no sign; write +5s for forward or -5s for back`},
		{"time without a fault", head + "nemesis\n  at 5s\n" + run, `11: cannot read "at 5s"; write at DURATION FAULT`},
		{"bad time", head + "nemesis\n  at noon heal\n" + run, `11: "noon" must be a duration such as 15s, 1500ms or 2m`},
		{"event without a fault", head + "nemesis\n  when c1 acquired\n" + run, `11: cannot read "when c1 acquired"; write ` + when},
		{"event without a word", head + "nemesis\n  when c1\n" + run, `11: cannot read "when c1"; write ` + when},
		{"event without a value", head + "nemesis\n  when c1 wrote\n" + run, `11: cannot read "when c1 wrote"; write when PROCESS wrote VALUE [#NUMBER] [+DURATION] FAULT`},
		{"event and no time", head + "nemesis\n  when c1 acquired +0s heal\n" + run, "11: duration 0s is too short; write more than 0s"},
		{"unknown event", head + "nemesis\n  when c1 aquired heal\n" + run, `11: unknown event "aquired"; the events are ` + events + ` (did you mean "acquired"?)`},
		{"event of a bad name", head + "nemesis\n  when C1 acquired heal\n" + run, `11: "C1" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"event with a bad value", head + "nemesis\n  when c1 wrote A! heal\n" + run, `11: "A!" is not a value; a value has only letters, digits and . _ -, and begins with a letter or a digit, such as A`},
		{"message to a stranger", head + "nemesis\n  on request SET c1->n9 hold\n" + run, `11: run single: unknown process "n9"; the processes are ` + processes},
		{"event with a number of its own", head + "nemesis\n  when c1 acquired #1 heal\n" + run, `11: "#1" must be a number from #2 to #100000; leave it out for the first`},
		{"bad pace", after + "  acquire within 5s every 0s\n" + run, "4: duration 0s is too short; write more than 0s"},
		{"event of a stranger", head + "nemesis\n  when c3 acquired heal\n" + run, `11: run single: unknown client "c3"; the clients are c1, c2`},
		{"event of a node", head + "nemesis\n  when n1 acquired heal\n" + run, `11: run single: unknown client "n1"; the clients are c1, c2`},
		{"event of the probe", head + "nemesis\n  when probe acquired heal\n" + run, `11: run single: unknown client "probe"; the clients are c1, c2`},
		{"impossible write", head + "nemesis\n  when c1 wrote B heal\n" + run, "11: run single: c1 wrote B cannot happen; no step brings it about"},
		{"impossible release", head + "nemesis\n  when c2 releases heal\n" + run, "11: run single: c2 releases cannot happen; no step brings it about"},
		{"impossible pause", head + "nemesis\n  when c2 paused heal\n" + run, "11: run single: c2 paused cannot happen; no step brings it about"},

		{"event with a value too many", head + "nemesis\n  when c1 acquired A heal\n" + run, `11: unknown fault "A"; the faults are ` + faults},
		{"event without a word of it", head + "nemesis\n  when c1 updates\n" + run, `11: cannot read "when c1 updates"; write when PROCESS updates WORD [#NUMBER] [+DURATION] FAULT`},
		{"event without a node", head + "nemesis\n  when s1 sdown\n" + group, `11: cannot read "when s1 sdown"; write when PROCESS sdown NODE [#NUMBER] [+DURATION] FAULT`},
		{"event of a server that is a client's", head + "nemesis\n  when n1 acquired heal\n" + group, `11: run single: unknown client "n1"; the clients are c1, c2`},
		{"event of a client that is a server's", head + "nemesis\n  when c1 promoted heal\n" + group, "11: run single: c1 promoted cannot happen; no step and no server causes it"},
		{"impossible extension", head + "nemesis\n  when c1 extended heal\n" + run, "11: run single: c1 extended cannot happen; no step brings it about"},
		{"impossible update", head + "nemesis\n  when c1 updated A heal\n" + run, "11: run single: c1 updated A cannot happen; no step brings it about"},
		{"impossible entry", head + "nemesis\n  when c1 enters heal\n" + run, "11: run single: c1 enters cannot happen; no step brings it about"},
		{"impossible increment", head + "nemesis\n  when c1 incremented heal\n" + run, "11: run single: c1 incremented cannot happen; no step brings it about"},
		{"promotion of a stranger", head + "nemesis\n  when r3 promoted heal\n" + group, `11: run single: unknown process "r3"; the processes are c1, c2, n1, r1, r2, s1, s2, s3, resource`},
		{"promotion by nobody", head + "nemesis\n  promote r2\n  when r1 promoted heal\n-- single nodes=1 replicas=2 --\n", "12: run single: r1 promoted cannot happen; no step and no server causes it"},
		{"promotion without a replica", head + "nemesis\n  promote n1\n" + run, "11: run single: promote n1 needs replicas, but the run has none; write replicas=1 in the line that names the lock"},
		{"promotion of a sentinel", head + "nemesis\n  promote s1\n" + group, "11: run single: promote s1 cannot happen: s1 is neither n1 nor a replica"},
		{"replica of a sentinel", head + "nemesis\n  follow r1 s1\n" + group, "11: run single: follow r1 s1 cannot happen: s1 is neither n1 nor a replica"},
		{"replica of itself", head + "nemesis\n  follow r1 r1\n" + group, "11: r1 cannot follow itself"},
		{"doubt of nobody", head + "nemesis\n  when s1 sdown n1 heal\n-- single nodes=1 replicas=2 --\n", `11: run single: unknown process "s1"; the processes are c1, c2, n1, r1, r2, resource`},
		{"doubt about a stranger", head + "nemesis\n  when s1 odown n2 heal\n" + group, `11: run single: unknown process "n2"; the processes are c1, c2, n1, r1, r2, s1, s2, s3, resource`},
		{"client that stops", head + "nemesis\n  stop c1\n" + run, "11: run single: c1 is a client, which ends at the end of its lane; write crash c1"},

		{"unknown process", head + "nemesis\n  crash c3\n" + run, `11: run single: unknown process "c3"; the processes are ` + processes},
		{"fault on the probe", head + "nemesis\n  pause probe\n" + run, `11: run single: unknown process "probe"; the processes are ` + processes},
		{"unknown end of a link", head + "nemesis\n  hold c3->n1\n" + run, `11: run single: unknown process "c3"; the processes are ` + processes},
		{"unknown node", head + "nemesis\n  heal\n  cut c1-n4\n" + run, `12: run single: unknown process "n4"; the processes are ` + processes},
		{
			"node that one run lacks", head + "nemesis\n  at 1s crash n3\n" + run + "-- redlock nodes=2 label=small --\n",
			`11: run redlock/small: unknown process "n3"; the processes are c1, c2, n1, n2, resource`,
		},
		{"client that restarts", head + "nemesis\n  when c1 acquired restart c1\n" + run, "11: run single: c1 is a client, and a crashed client is gone for good; only servers restart"},
		{"resource that restarts empty", head + "nemesis\n  at 1s crash resource\n  at 2s restart resource empty\n" + run, `12: run single: "restart resource empty" needs resource=counter; a plain one keeps what it has accepted`},
		{"link between clients", head + "nemesis\n  cut c1-c2\n" + run, "11: run single: nothing travels on c1-c2; a link joins a client and a server"},
		{"link between servers", head + "nemesis\n  cut n1->resource\n" + run, "11: run single: nothing travels on n1->resource; a link joins a client and a server"},
		{"link between independent nodes", head + "nemesis\n  cut n1-n2\n" + run, "11: run single: nothing travels on n1-n2; a link joins a client and a server"},
		{"link between a replica and the resource", head + "nemesis\n  cut r1-resource\n" + group, "11: run single: nothing travels on r1-resource; a link joins a client and a server, or two Redis servers"},
		{"link between clients of a group", head + "nemesis\n  cut c1-c2\n" + group, "11: run single: nothing travels on c1-c2; a link joins a client and a server, or two Redis servers"},
		{"request the wrong way in a group", head + "nemesis\n  on request SET r1->c1 hold\n" + group, "11: run single: requests go from a client to a server, and replies back; write on request SET c1->r1 hold"},
		{"request the wrong way", head + "nemesis\n  on request SET n1->c1 hold\n" + run, "11: run single: requests go from a client to a server, and replies back; write on request SET c1->n1 hold"},
		{"reply the wrong way", head + "nemesis\n  on reply SET c1->n1 hold\n" + run, "11: run single: requests go from a client to a server, and replies back; write on reply SET n1->c1 hold"},

		{"must about a stranger", head + "must c3 acquires\n" + run, `10: run single: unknown process "c3"; the processes are ` + processes},
		{"must about an unknown node", head + run + "must c1 holds exactly n1 n2 n4\n", `11: run single: unknown process "n4"; the processes are ` + processes},
		{"must of no time", head + "must the wall clock of n1 is off by over 0s\n" + run, `10: must: "0s" must be a duration above 0s, such as 1500ms`},
		{"must of a negative time", head + "must c1 acquires with under -1s left\n" + run, `10: must: "-1s" must be a duration above 0s, such as 1500ms`},
		{"must about too few", head + "must 0 clients wait at once\n" + run, `10: must: "0" must be a number from 2 on`},
		{"must about nodes with commas", head + "must c1 acquires with n1,n2 down\n" + run, `10: must: "n1,n2" must be servers with spaces between them, such as n1 n2`},
		{"must about nodes with and", head + run + "must c1 acquires with n1 and n9 down\n", `11: must: "n1 and n9" must be servers with spaces between them, such as n1 n2`},
		{"must about a client that is a node", head + "must c1 waits for n1\n" + run, `10: must: "n1" must be a client, such as c2`},
		{"must about a node that is a client", head + "must c1 acquires on c2\n" + run, `10: must: "c2" must be a server, such as n1`},
		{"must about no server", head + "must a reply from c2 to c1 is lost\n" + run, `10: must: "c2" must be a server, such as n1`},
		{"must about no process", head + "must the steady clock of x1 is off by over 1s\n" + run, `10: must: "x1" must be a process, such as n1 or c1`},
		{"must about a bad name", head + "must C1 acquires\n" + run, `10: must: "C1" must be a client, such as c1`},
		{"must about no write", head + "must write B arrives after its lease ended\n" + run, "10: run single: no client writes B"},

		{"lock with a bad name", head + "-- Single nodes=1 --\n", `10: "Single" is not the name of a lock; a name has only lower-case letters, digits and dashes, and begins with a letter, such as redlock`},
		{"Redlock without nodes", head + "-- redlock-wall --\n", "10: run redlock-wall does not say how many nodes it has; write -- redlock-wall nodes=5 --"},
		{"run without nodes", head + "-- single --\n", "10: run single does not say how many nodes it has; write -- single nodes=1 --"},
		{"run without a key", head + "-- single 1 --\n", `10: "1" is not a setting; write KEY=VALUE`},
		{"run with an unknown key", head + "-- single node=1 --\n", `10: unknown setting "node"; the settings are nodes, replicas, sentinels, shards, down-after, min-replicas, persistence, pool, guests, resource, label, ttl, speed, seed, checksum (did you mean "nodes"?)`},
		{"run with a key twice", head + "-- single nodes=1 nodes=2 --\n", "10: nodes is set twice"},
		{"no nodes", head + "-- single nodes=0 --\n", "10: nodes=0: write a number from 1 to 9"},
		{"too many nodes", head + "-- single nodes=10 --\n", "10: nodes=10: write a number from 1 to 9"},
		{"unknown resource", head + "-- single nodes=1 resource=fence --\n", `10: unknown resource "fence"; the resources are plain, fenced, check-and-set, versioned, counter (did you mean "fenced"?)`},
		{"no replicas", head + "-- single nodes=1 replicas=0 --\n", "10: replicas=0: write a number from 1 to 9"},
		{"replicas of many", head + "-- single nodes=3 replicas=1 --\n", "10: replicas=1 goes with nodes=1 only, not with nodes=3: replicas are copies of n1"},
		{"sentinels of many", head + "-- single nodes=3 sentinels=1 --\n", "10: sentinels=1 goes with nodes=1 only, not with nodes=3: sentinels watch n1 and its replicas"},
		{"shards of many", head + "-- single nodes=3 shards=3 --\n", "10: shards=3 goes with nodes=1 only, not with nodes=3: n1 is the first shard of its cluster"},
		{"too few shards", head + "-- single nodes=1 replicas=1 shards=2 --\n", "10: shards=2: write a number from 3 to 9"},
		{"sentinels alone", head + "-- single nodes=1 sentinels=3 --\n", "10: sentinels=3 have no replica to promote; write replicas=1 as well"},
		{"shards alone", head + "-- single nodes=1 shards=3 --\n", "10: shards=3 have no replica to promote; write replicas=1 as well"},
		{"sentinels in a cluster", head + "-- single nodes=1 replicas=1 sentinels=3 shards=3 --\n", "10: sentinels=3 and shards=3 do not go together: the shards of a cluster watch each other"},
		{"nobody to be patient", head + "-- single nodes=1 replicas=1 down-after=5s --\n", "10: down-after=5s without sentinels or shards: no server finds out that n1 is down"},
		{"no patience", head + "-- single nodes=1 replicas=1 sentinels=1 down-after=0s --\n", "10: down-after: duration 0s is too short; write more than 0s"},
		{"too many at least", head + "-- single nodes=1 replicas=1 min-replicas=2 --\n", "10: min-replicas=2 with replicas=1: n1 would accept no write"},
		{"unknown pool", head + "-- single nodes=1 pool=hot --\n", `10: unknown pool "hot"; the only pool is warm`},
		{"guests that are neither", head + "-- single nodes=1 guests=no --\n", `10: guests=no: it must be yes; without the setting, clients are native`},
		{"pool in a group", head + "-- single nodes=1 replicas=1 pool=warm --\n", `10: pool=warm goes with lock nodes without replicas only, not with replicas=1: clients learn only during the run which server is the primary`},
		{"unknown persistence", head + "-- single nodes=1 persistence=aof --\n", `10: unknown persistence "aof"; the persistences are none, rdb, aof-everysec, aof-everysec-slow, aof-always, aof-lying`},
		{"bad label", head + "-- single nodes=1 label=a_b --\n", "10: label=a_b: a label has only lower-case letters, digits and dashes, and does not begin with a dash"},
		{"bad ttl of a run", head + "-- single nodes=1 ttl=5 --\n", `10: ttl: "5" must be a duration such as 15s, 1500ms or 2m`},
		{"negative ttl of a run", head + "-- single nodes=1 ttl=-1s --\n", "10: ttl: duration -1s is too short; write more than 0s"},
		{"long label", head + "-- single nodes=1 label=" + strings.Repeat("a", 65) + " --\n", "10: the label may have at most 64 characters, not 65"},
		{"long name of a lock", head + "-- " + strings.Repeat("a", 65) + " nodes=1 --\n", "10: the name of the lock may have at most 64 characters, not 65"},
		{"runs with the same files", head + "-- single nodes=3 label=wait --\n-- single-wait nodes=3 --\n", "11: run single-wait would overwrite the files of run single/wait at line 10; choose another label"},
		{"duplicate run", head + run + run, "11: duplicate run single; the first is at line 10; give one of them a label=NAME"},

		{"unknown property", head + run + "expect leas exclusion violated\n", `11: unknown property "leas exclusion"; the properties are ` + properties + ` (did you mean "lease exclusion"?)`},
		{"unknown outcome", head + run + "expect lease exclusion violatd\n", `11: unknown outcome "violatd"; the outcomes are ok, violated, unknown (did you mean "violated"?)`},
		{"expectation of nothing", head + run + "expect violated\n", `11: cannot read "expect violated"; write expect PROPERTY violated, ok or unknown`},
		{"unknown assumption", head + run + "expect lease exclusion violated: durable node\n", `11: unknown assumption "durable node"; the assumptions are bounded pause, bounded clock error, bounded delay, durable nodes, none (did you mean "durable nodes"?)`},
		{"assumption of nothing", head + run + "expect lease exclusion violated:\n", `11: cannot read "expect lease exclusion violated:"; write expect lease exclusion violated: ASSUMPTION`},
		{"property without an outcome", head + run + "expect lease exclusion\n", `11: the outcome is missing in "expect lease exclusion"; write expect lease exclusion violated, ok or unknown`},
		{"assumption without an outcome", head + run + "expect lease exclusion: none\n", `11: the outcome is missing in "expect lease exclusion: none"; write expect lease exclusion violated, ok or unknown`},
		{"share of what is ok", head + run + "expect lease exclusion ok for 4 of 200 seeds\n", "11: only a violation can have a share of the seeds; write expect lease exclusion violated for 4 of 200 seeds"},
		{"share of all", head + run + "expect lease exclusion violated for 200 of 200 seeds\n", "11: cannot read \"for 200 of 200 seeds\"; write for N of 200 seeds, with N from 1 to 199"},
		{"share of others", head + run + "expect lease exclusion violated for 4 of 100 seeds: none\n", "11: cannot read \"for 4 of 100 seeds\"; write for N of 200 seeds, with N from 1 to 199"},
		{"assumption of what is ok", head + run + "expect lease exclusion ok: none\n", "11: only a violation has a broken assumption; write expect lease exclusion ok"},
		{"duplicate expectation", head + run + "expect owner only ok\nexpect owner only violated\n", "12: duplicate expectation for owner only; the first is at line 11"},

		{"unknown quantity", head + "report round trip\n" + run, `10: unknown quantity "round trip"; the quantities are ` + reports + ` (did you mean "round trips"?)`},
		{"quantity of nothing", head + run + "report\n", `11: cannot read "report"; write report QUANTITY, one of ` + reports},
		{"quantity twice", head + run + "report round trips\nreport round trips\n", "12: duplicate report of round trips"},
		{"late report", head + run + "   0.000s  c1\nreport round trips\n", "12: report belongs before the timeline, which begins at line 11"},

		{"misspelt expectation", head + run + "expcet lease exclusion violated\n", `11: unknown setting "expcet"; the settings are client, expect, must, nemesis, report, sim (did you mean "expect"?)`},
		{"late expectation", head + run + "   0.000s  c1\nverdict: SAFE\nexpect lease exclusion violated\n", "13: expect belongs before the timeline, which begins at line 11"},
		{"ttl in a run", head + run + "ttl 5s\n", "11: ttl belongs in the section line of its run; write ttl=VALUE before the dashes at its end"},
		{"speed in a run", head + run + "speed 5\n", "11: speed belongs in the section line of its run; write speed=VALUE before the dashes at its end"},
		{"seed in a run", head + run + "seed 5\n", "11: seed belongs in the section line of its run; write seed=VALUE before the dashes at its end"},
		{"nodes in a run", head + run + "nodes=5\n", "11: nodes belongs in the section line of its run; write nodes=VALUE before the dashes at its end"},
		{"resource in a run", head + run + "resource fenced\n", "11: resource belongs in the section line of its run; write resource=VALUE before the dashes at its end"},
		{"label in a run", head + run + "label foo\n", "11: label belongs in the section line of its run; write label=VALUE before the dashes at its end"},
		{"sweep in a run", head + run + "sweep delay\n", `11: "sweep delay" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"other word for expect", head + run + "assert lease exclusion violated\n", `11: "assert lease exclusion violated" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"property alone", head + run + "property lease exclusion violated\n", `11: "property lease exclusion violated" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"mark of a proof alone", head + run + "!\n", `11: "!" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"garbage in a run", head + run + "garbage\n", `11: "garbage" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"comment in a run", head + run + "comment: why\n", `11: "comment: why" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"number in a run", head + run + "5 nodes\n", `11: "5 nodes" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"unindented step in a run", head + run + "write A\n", `11: "write A" is a step of a client; it must be indented by two spaces`},
		{"garbage before a timeline", head + run + "garbage\n   0.000s  c1\nverdict: SAFE\n", `11: "garbage" is neither a setting, an expectation nor a timeline, whose first line begins with a time`},
		{"prose in a run", head + run + "# A control.\n", "11: prose belongs at the top of the file"},
		{"step without a lane in a run", head + run + "client c2\n  acquire\n\n  release\n", `14: "release" belongs neither to a lane nor to a timeline, which begins with a time`},
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

var rewrite = flag.Bool("rewrite", false, "renew the lists of musts, steps and faults in doc.go")
