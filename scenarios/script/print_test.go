package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyScenario().Draw(t, "scenario")
		got, err := Parse(want.File, []byte(want.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, want)
		}
		if !got.Equal(want) {
			t.Fatalf("parses to\n%#v\nwant\n%#v", got, want)
		}
		if got.String() != want.String() {
			t.Fatalf("prints\n%s\nwant\n%s", got, want)
		}
	})
}

func TestStepRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		process, step := Nemesis, anyNemesisStep([]string{"c1", "c2"}, 9).Draw(t, "nemesis")
		if rapid.Bool().Draw(t, "client") {
			process, step = "c1", anyClientStep().Draw(t, "step")
		}
		got, err := ParseStep(process, step.String())
		if err != nil || got != step {
			t.Fatalf("parseStep(%q) = %#v, %v, want %#v", step, got, err, step)
		}
	})
}

// Every event can be waited for, and comes back as it is printed.
func TestEventRoundTrip(t *testing.T) {
	if !slices.IsSorted(whats) {
		t.Errorf("the events are not sorted: %v", whats)
	}
	for _, what := range whats {
		e := Event{Process: "c1", What: what}
		if what.Form() != "" {
			e.Value = "n1"
		}
		for _, want := range []When{{e, 0, history.Heal{}}, {e, time.Second, history.Promote{Process: "r1"}}, {e, 0, history.Follow{Process: "n1", Primary: "r1"}}} {
			if got, err := ParseStep(Nemesis, want.String()); err != nil || got != want {
				t.Errorf("parseStep(%q) = %#v, %v, want %#v", want, got, err, want)
			}
		}
		if op, kinds := what.Means(); op == "" || len(kinds) == 0 {
			t.Errorf("%s means %q, %v", what, op, kinds)
		}
	}
}

// FuzzParse checks that no input makes the parser panic, and that what it accepts survives being printed.
func FuzzParse(f *testing.F) {
	f.Add(page)
	f.Add("# T.\r\n\r\nttl 1m\r\nclient c1\r\n  acquire\r\n\r\n-- single nodes=1 ttl=5s --\r\nmust c1 acquires\r\n   0.000s\r\n")
	for _, line := range []string{
		"  write A", "  until 5s", "nemesis\n  heal", "nemesis\n  at 1m cut c1-n1", "nemesis\n  when c1 acquired +5s jump n1 +11s",
		"client c2\n  acquire within 1.5s\n  release", "client c2\n  repeat 007 acquire\n  extend\n  extend 5s\n  update A\n  write A blind",
		"nemesis\n  promote r1\n  when r1 promoted follow n1 r1", "nemesis\n  stop n1\n  crash n1 power\n  cut s1-p2", "report round trips",
		"nemesis\n  when s1 odown n1 restart n1", "client c2\n  increment\n  enter\n  increment within 1m",
		"must c1 acquires", "must n1 restarts after the lease of c1 ended", "",
	} {
		for _, header := range []string{"", " replicas=2", " replicas=1 sentinels=3 down-after=1m", " replicas=1 shards=3 min-replicas=1 resource=check-and-set", " resource=counter persistence=rdb"} {
			f.Add("# T.\nclient c1\n  acquire\n" + line + "\n-- l nodes=1" + header + " --\n")
		}
		f.Add("# T.\nclient c1\n  acquire\n-- l nodes=1 --\n" + strings.TrimLeft(line, " ") + "\nexpect owner only ok\n0s\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("fuzz.txtar", []byte(text))
		if err != nil {
			return
		}
		again, err := Parse("fuzz.txtar", []byte(s.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, s)
		}
		if !again.Equal(s) {
			t.Fatalf("parses to\n%#v\nprints\n%s\nwhich parses to\n%#v", s, s, again)
		}
	})
}

// anyScenario draws valid scenarios. Every client acquires, writes A, pauses and releases, so that every event and every
// must can be about any of them.
func anyScenario() *rapid.Generator[*Scenario] {
	return rapid.Custom(func(t *rapid.T) *Scenario {
		s := &Scenario{
			Name:  "drawn",
			File:  "scenarios/drawn.txtar",
			Title: rapid.StringMatching(`[A-Z"]([ -~]{0,40}[!-~])?\.`).Draw(t, "title"),
			Prose: anyProse().Draw(t, "prose"),
			TTL:   anySettingTTL().Draw(t, "ttl"),
			Speed: rapid.IntRange(0, mostSpeed).Draw(t, "speed"),
			Sweep: rapid.SliceOfNDistinct(rapid.SampledFrom(Kinds()), 0, 3, rapid.ID).Draw(t, "sweep"),

			SimOnly: anyReason().Draw(t, "sim only"),
		}
		clients := rapid.SampledFrom([][]string{{"c1"}, {"c1", "c2"}, {"c2", "bob", "c1"}}).Draw(t, "clients")
		for _, c := range clients {
			s.Lanes = append(s.Lanes, anyLane(c).Draw(t, "lane"))
		}
		fewest := rapid.IntRange(1, 9).Draw(t, "fewest nodes")
		if rapid.Bool().Draw(t, "nemesis") {
			steps := rapid.SliceOfN(anyNemesisStep(clients, fewest), 1, 5).Draw(t, "faults")
			at := rapid.IntRange(0, len(s.Lanes)).Draw(t, "place")
			s.Lanes = append(s.Lanes[:at:at], append([]Lane{{Process: Nemesis, Steps: steps}}, s.Lanes[at:]...)...)
		}
		s.Musts = anyMusts().Draw(t, "musts")
		s.Reports = anyReports().Draw(t, "reports")
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`(single|redlock-[a-z0-9-]{1,3})(/[a-z0-9-]{0,5}[a-z0-9])?`), 1, 4,
			func(id string) string { return id }).Filter(plainLabels).Draw(t, "runs")
		for _, id := range ids {
			lock, label, _ := strings.Cut(id, "/")
			s.Runs = append(s.Runs, anyRun(lock, label, clients, fewest).Draw(t, id))
		}
		return s
	})
}

func anyReason() *rapid.Generator[string] {
	return rapid.StringMatching(`([!-~]([ -~]{0,30}[!-~])?)?`)
}

// plainLabels reports whether no label begins with a dash.
func plainLabels(ids []string) bool { return !strings.Contains(strings.Join(ids, " "), "/-") }

func anyRun(lock, label string, clients []string, fewest int) *rapid.Generator[Section] {
	return rapid.Custom(func(t *rapid.T) Section {
		r := Section{
			Lock:     lock,
			Label:    label,
			Nodes:    rapid.IntRange(fewest, 9).Draw(t, "nodes"),
			Resource: rapid.SampledFrom([]string{"", Plain, Fenced, CheckAndSet, Versioned}).Draw(t, "resource"),
			TTL:      anySettingTTL().Draw(t, "ttl"),
			Speed:    rapid.IntRange(0, mostSpeed).Draw(t, "own speed"),
			SimOnly:  anyReason().Draw(t, "sim only here"),
			Seed:     rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "seed"),
			Checksum: rapid.StringMatching(`([0-9a-f]{16})?`).Draw(t, "checksum"),
			Musts:    anyMusts().Draw(t, "musts"),
			Reports:  anyReports().Draw(t, "reports"),
			Golden:   anyGolden().Draw(t, "golden"),

			Persistence: rapid.SampledFrom(append(WordsOf(engine.Persistences), "")).Draw(t, "persistence"),
		}
		anyGroup(t, &r)
		own := append([]string{"c9"}, clients...)
		for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(own), 0, 2, func(c string) string { return c }).Draw(t, "own") {
			r.Lanes = append(r.Lanes, anyLane(c).Draw(t, "lane"))
		}
		if rapid.Bool().Draw(t, "nemesis") {
			steps := rapid.SliceOfN(anyNemesisStep(clients, r.Nodes), 1, 3).Draw(t, "faults")
			r.Lanes = append(r.Lanes, Lane{Process: Nemesis, Steps: steps})
		}
		properties := rapid.SliceOfNDistinct(rapid.SampledFrom(checker.Properties()), 0, 5,
			func(p checker.Property) checker.Property { return p })
		for _, p := range properties.Draw(t, "properties") {
			status := rapid.SampledFrom([]checker.Status{checker.OK, checker.Violated, checker.Unknown}).Draw(t, "status")
			e := Expectation{Property: p, Status: status}
			if status == checker.Violated {
				e.Assumption = rapid.SampledFrom(append(checker.Assumptions(), "")).Draw(t, "assumption")
			}
			r.Expect = append(r.Expect, e)
		}
		return r
	})
}

// anyGroup gives a run on one node the servers that go with it.
func anyGroup(t *rapid.T, r *Section) {
	r.Pool = rapid.SampledFrom([]string{"", Warm}).Draw(t, "pool")
	if r.Nodes != 1 {
		return
	}
	if r.Replicas = rapid.IntRange(0, 9).Draw(t, "replicas"); r.Replicas == 0 {
		return
	}
	r.Pool = ""
	r.MinReplicas = rapid.IntRange(0, r.Replicas).Draw(t, "min-replicas")
	switch rapid.IntRange(0, 2).Draw(t, "watched by") {
	case 1:
		r.Sentinels = rapid.IntRange(1, 9).Draw(t, "sentinels")
	case 2:
		r.Shards = rapid.IntRange(leastShards, 9).Draw(t, "shards")
	default:
		return
	}
	r.DownAfter = anySettingTTL().Draw(t, "down-after")
}

func anyReports() *rapid.Generator[[]checker.Quantity] {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(checker.Quantities()), 0, 2, func(q checker.Quantity) checker.Quantity { return q })
}

func anyLane(client string) *rapid.Generator[Lane] {
	return rapid.Custom(func(t *rapid.T) Lane {
		lane := Lane{Process: client, Steps: []Step{Acquire{}}}
		possible := anyClientStep().Filter(func(step Step) bool { // whatever the resource is, as long as it is no counter
			switch s := Once(step).(type) {
			case Increment, Enter, Stay:
				return false
			case Write:
				return !s.Blind
			}
			return true
		})
		steps := append(rapid.SliceOfN(possible, 0, 5).Draw(t, "steps"),
			Write{Value: "A"}, Update{Word: "B"}, Extend{}, Pause{For: time.Second}, Release{})
		var now time.Duration
		for _, step := range steps {
			switch s := step.(type) {
			case Until: // only ever later, and never beyond what can be written
				now += s.Time % time.Hour
				if now > history.MaxDuration {
					continue
				}
				step = Until{Time: max(now, 1)}
			case Pause:
				now += s.For
			case Repeat:
				if pause, ok := s.Step.(Pause); ok {
					now += time.Duration(s.N) * pause.For
				}
			}
			lane.Steps = append(lane.Steps, step)
		}
		if rapid.Bool().Draw(t, "stays") {
			lane.Steps = append(lane.Steps, Stay{})
		}
		return lane
	})
}

func anyDuration() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		unit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Millisecond, time.Second, time.Minute}).Draw(t, "unit")
		return unit * time.Duration(rapid.Int64Range(1, 99_999).Draw(t, "count"))
	})
}

// anySettingTTL draws a TTL, or zero for one that is not said.
func anySettingTTL() *rapid.Generator[time.Duration] {
	return rapid.OneOf(rapid.Just(time.Duration(0)), anyDuration())
}

func anyValue() *rapid.Generator[string] {
	return rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,5}`)
}

func anyClientStep() *rapid.Generator[Step] {
	return rapid.Custom(func(t *rapid.T) Step {
		d, value := anyDuration().Draw(t, "duration"), anyValue().Draw(t, "value")
		steps := []Step{
			Acquire{}, Acquire{Within: d}, Acquire{Within: d, Every: d}, Acquire{Cancelled: d}, Acquire{Within: d, Every: d, Cancelled: d}, Extend{}, Extend{TTL: d.Truncate(time.Millisecond)}, Release{}, Release{Cancelled: true}, Release{Oldest: true}, Release{Again: true}, Write{Value: value}, Write{Value: value, Blind: true},
			Read{}, Update{Word: value}, Enter{}, Increment{}, Increment{Within: d}, Check{}, Pause{For: d}, Sleep{For: d},
		}
		step := rapid.SampledFrom(append(steps, Until{Time: d}, Stay{})).Draw(t, "step")
		if rapid.IntRange(0, 3).Draw(t, "repeated") == 0 {
			step = Repeat{N: rapid.IntRange(1, 500).Draw(t, "times"), Step: rapid.SampledFrom(steps).Draw(t, "repeat")}
		}
		return step
	})
}

func anyNemesisStep(clients []string, nodes int) *rapid.Generator[Step] {
	return rapid.Custom(func(t *rapid.T) Step {
		fault := anyFault(clients, nodes).Draw(t, "fault")
		d := anyDuration().Draw(t, "duration")
		client := rapid.SampledFrom(clients).Draw(t, "client")
		nth := anyNth().Draw(t, "event number")
		event := rapid.SampledFrom([]Event{
			{client, Acquires, nth, ""}, {client, Acquired, nth, ""}, {client, Refused, nth, ""}, {client, Releases, nth, ""}, {client, Released, nth, ""},
			{client, Writes, nth, "A"}, {client, Wrote, nth, "A"}, {client, Paused, nth, ""}, {client, Resumed, nth, ""},
			{client, Updates, nth, "B"}, {client, Updated, nth, "B"}, {client, Extends, nth, ""}, {client, Extended, nth, ""},
			{client, Renewed, nth, ""}, {client, Lost, nth, ""},
		}).Draw(t, "event")
		return rapid.SampledFrom([]Step{
			AtStart{fault}, At{d, fault}, At{0, fault}, When{event, 0, fault}, When{event, d, fault},
		}).Draw(t, "step")
	})
}

func anyNth() *rapid.Generator[int] {
	return rapid.OneOf(rapid.Just(0), rapid.IntRange(2, history.MaxNth))
}

func anyFault(clients []string, nodes int) *rapid.Generator[history.Fault] {
	return rapid.Custom(func(t *rapid.T) history.Fault {
		servers := append(Section{Nodes: nodes}.NodeNames(), "resource")
		client := rapid.SampledFrom(clients).Draw(t, "client")
		server := rapid.SampledFrom(servers).Draw(t, "server")
		process := rapid.SampledFrom([]string{client, server}).Draw(t, "process")
		link := history.Link{From: client, To: server, Both: rapid.Bool().Draw(t, "both")}
		request := history.Link{From: client, To: server}
		reply := history.Link{From: server, To: client}
		d := anyDuration().Draw(t, "duration")
		nth := anyNth().Draw(t, "message number")
		return rapid.SampledFrom([]history.Fault{
			history.Pause{Process: process}, history.Pause{Process: process, For: d}, history.Resume{Process: process},
			history.Crash{Process: process}, history.Crash{Process: process, Power: true}, history.Stop{Process: server}, history.Restart{Process: server}, history.Restart{Process: "n1", Empty: true},
			history.Jump{Process: process, By: d}, history.Jump{Process: process, By: -d},
			history.Drift{Process: process, PPM: int64(d) % history.MaxDriftPPM}, history.Slew{Process: process, By: -d, Over: d + 1},
			history.Cut{Link: link}, history.Cut{Link: reply}, history.Heal{}, history.Heal{Link: link}, history.Hold{Link: link},
			history.ReleaseLink{Link: link}, history.Delay{Link: link, By: d}, history.Reset{Link: link},
			history.Chosen{What: "SET", Nth: nth, Link: request, Action: history.HoldMessage},
			history.Chosen{What: history.Write, Link: request, Action: history.DelayMessage, By: d},
			history.Chosen{Reply: true, What: "EVALSHA", Link: reply, Action: history.ResetMessage},
		}).Draw(t, "fault")
	})
}

func anyMusts() *rapid.Generator[[]checker.Must] {
	return rapid.Custom(func(t *rapid.T) []checker.Must {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"c1 acquires", "c1 resumes after its lease ended", "n1 restarts before the lease of c1 ended",
			"write A arrives after its lease ended", "a request from c1 to n1 takes over 1s", "c1 holds exactly n1",
		}), 0, 3).Draw(t, "musts")
		var musts []checker.Must
		for _, text := range texts {
			m, err := checker.ParseMust(text)
			if err != nil {
				panic(fmt.Sprintf("scenarios: %v", err))
			}
			musts = append(musts, m)
		}
		return musts
	})
}

func anyProse() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.StringMatching(`([ -~]{0,40}[!-~])?`), 0, 5).Draw(t, "lines")
		return strings.Trim(strings.Join(lines, "\n"), "\n")
	})
}

// anyGolden draws timelines: the first line begins with a time, and the others with nothing that means something else.
func anyGolden() *rapid.Generator[string] {
	return rapid.StringMatching(`( {0,3}[0-9]{1,4}\.[0-9]{3}s  [ -~]{0,20}\n(( [ -~]{0,20}|verdict: UNSAFE|)\n){0,3})?`)
}

// The headline of a page that is made has words for each property.
func TestEffects(t *testing.T) {
	for _, p := range checker.Properties() {
		if effects[p] == "" {
			t.Errorf("%s has no words", p)
		}
	}
}
