package history_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/sim/history"
)

// forms has each fault in each of its forms, as a scenario has it.
var forms = []struct {
	text   string
	fault  history.Fault
	verb   string
	target string
}{
	{"pause c1 15s", history.Pause{Process: "c1", For: 15 * time.Second}, "pause", "c1"},
	{"pause c1", history.Pause{Process: "c1"}, "pause", "c1"},
	{"resume c1", history.Resume{Process: "c1"}, "resume", "c1"},
	{"crash n3", history.Crash{Process: "n3"}, "crash", "n3"},
	{"crash n3 power", history.Crash{Process: "n3", Power: true}, "crash", "n3"},
	{"stop n3", history.Stop{Process: "n3"}, "stop", "n3"},
	{"promote r1", history.Promote{Process: "r1"}, "promote", "r1"},
	{"follow n1 r1", history.Follow{Process: "n1", Primary: "r1"}, "follow", "n1"},
	{"restart n3", history.Restart{Process: "n3"}, "restart", "n3"},
	{"restart n3 empty", history.Restart{Process: "n3", Empty: true}, "restart", "n3"},
	{"jump n3 +11s", history.Jump{Process: "n3", By: 11 * time.Second}, "jump", "n3"},
	{"jump n3 -11s", history.Jump{Process: "n3", By: -11 * time.Second}, "jump", "n3"},
	{"drift c1 +500ppm", history.Drift{Process: "c1", PPM: 500}, "drift", "c1"},
	{"drift c1 -999999ppm", history.Drift{Process: "c1", PPM: -history.MaxDriftPPM}, "drift", "c1"},
	{"drift c1 +999999ppm", history.Drift{Process: "c1", PPM: history.MaxDriftPPM}, "drift", "c1"},
	{"drift c1 +0ppm", history.Drift{Process: "c1"}, "drift", "c1"},
	{"slew n3 +2s over 100s", history.Slew{Process: "n3", By: 2 * time.Second, Over: 100 * time.Second}, "slew", "n3"},
	{"slew n3 -500ms over 1s", history.Slew{Process: "n3", By: -time.Second / 2, Over: time.Second}, "slew", "n3"},
	{"cut c1-n4", history.Cut{Link: history.Link{From: "c1", To: "n4", Both: true}}, "cut", "c1-n4"},
	{"cut c1->n4", history.Cut{Link: history.Link{From: "c1", To: "n4"}}, "cut", "c1->n4"},
	{"heal c1-n4", history.Heal{Link: history.Link{From: "c1", To: "n4", Both: true}}, "heal", "c1-n4"},
	{"heal", history.Heal{}, "heal", ""},
	{"hold c1->n1", history.Hold{Link: history.Link{From: "c1", To: "n1"}}, "hold", "c1->n1"},
	{"release c1->n1", history.ReleaseLink{Link: history.Link{From: "c1", To: "n1"}}, "release", "c1->n1"},
	{"delay c1->n1 5s", history.Delay{Link: history.Link{From: "c1", To: "n1"}, By: 5 * time.Second}, "delay", "c1->n1"},
	{"delay c1->n1 0s", history.Delay{Link: history.Link{From: "c1", To: "n1"}}, "delay", "c1->n1"},
	{"reset c1-n1", history.Reset{Link: history.Link{From: "c1", To: "n1", Both: true}}, "reset", "c1-n1"},
	{
		"on request SET c1->n1 hold",
		history.Chosen{What: "SET", Link: history.Link{From: "c1", To: "n1"}, Action: history.HoldMessage},
		"on", "c1->n1",
	},
	{
		"on reply SET #3 n3->c1 delay 12s",
		history.Chosen{Reply: true, What: "SET", Nth: 3, Link: history.Link{From: "n3", To: "c1"}, Action: history.DelayMessage, By: 12 * time.Second},
		"on", "n3->c1",
	},
	{
		"on request write c1->resource delay 90s",
		history.Chosen{What: "write", Link: history.Link{From: "c1", To: "resource"}, Action: history.DelayMessage, By: 90 * time.Second},
		"on", "c1->resource",
	},
	{
		"on reply SET n1->c1 reset",
		history.Chosen{Reply: true, What: "SET", Link: history.Link{From: "n1", To: "c1"}, Action: history.ResetMessage},
		"on", "n1->c1",
	},
}

func TestFaultForms(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range forms {
		seen[f.verb] = true
		if got := f.fault.String(); got != f.text {
			t.Errorf("%#v prints %q, want %q", f.fault, got, f.text)
		}
		got, err := history.ParseFault(f.text)
		if err != nil || got != f.fault {
			t.Errorf("ParseFault(%q) = %#v, %v, want %#v", f.text, got, err, f.fault)
		}
		if got, want := history.ActsOnLinks(f.fault), strings.Contains(f.target, "-") || f.verb == "heal"; got != want {
			t.Errorf("%s acts on links: %t, want %t", f.text, got, want)
		}
		if f.fault.Verb() != f.verb || f.fault.Target() != f.target {
			t.Errorf("%s: verb %q and target %q, want %q and %q", f.text, f.fault.Verb(), f.fault.Target(), f.verb, f.target)
		}
	}
	for _, verb := range history.FaultVerbs() {
		if !seen[verb] {
			t.Errorf("no form of %s in the table", verb)
		}
	}
}

// TestParseFaultForgives checks that unambiguous variants are accepted, and printed in the canonical form.
func TestParseFaultForgives(t *testing.T) {
	for text, want := range map[string]string{
		" pause   c1  0.5m ":        "pause c1 30s",
		"jump n3 +1500000us":        "jump n3 +1500ms",
		"slew n3 +1m over 1h30m":    "slew n3 +60s over 5400s",
		"drift c1 -0ppm":            "drift c1 +0ppm",
		"delay c1->n1 1.5ms":        "delay c1->n1 1500µs",
		"on reply GET n1->c1 reset": "on reply GET n1->c1 reset",
	} {
		f, err := history.ParseFault(text)
		if err != nil {
			t.Errorf("ParseFault(%q): %v", text, err)
		} else if f.String() != want {
			t.Errorf("ParseFault(%q) prints %q, want %q", text, f, want)
		}
	}
}

func TestParseFaultErrors(t *testing.T) {
	faults := strings.Join(history.FaultVerbs(), ", ")
	for _, c := range []struct{ text, want string }{
		{"", "not a fault; the faults are " + faults},
		{"puase c1 15s", `unknown fault "puase"; the faults are ` + faults + ` (did you mean "pause"?)`},
		{"explode c1", `unknown fault "explode"; the faults are ` + faults},

		{"pause", `cannot read "pause"; write pause PROCESS [DURATION]`},
		{"pause c1 15s please", `cannot read "pause c1 15s please"; write pause PROCESS [DURATION]`},
		{"pause C1", `"C1" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"pause c1 15", `"15" must be a duration such as 15s, 1500ms or 2m`},
		{"pause c1 9999999h", `duration 9999999h is too long; the limit is 8760h`},
		{"pause c1 8761h", "duration 8761h is too long; the limit is 8760h"},
		{"pause c1 -15s", "duration -15s is too short; write more than 0s"},
		{"pause c1 0s", "duration 0s is too short; write more than 0s"},
		{"resume", `cannot read "resume"; write resume PROCESS`},
		{"resume c1 now", `cannot read "resume c1 now"; write resume PROCESS`},
		{"crash c1-n1", `"c1-n1" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"crash n1 n2", `cannot read "crash n1 n2"; write crash PROCESS [power]`},
		{"restart n3 full", `cannot read "restart n3 full"; write restart PROCESS [empty]`},
		{"jump n3", `cannot read "jump n3"; write jump PROCESS +DURATION or -DURATION`},
		{"jump n3 11s", `"11s" has no sign; write +11s for forward or -11s for back`},
		{"jump n3 +0s", "duration 0s is too short; write more than 0s"},
		{"jump n3 +-5s", "duration -5s is too short; write more than 0s"},
		{"drift c1 500ppm", `"500ppm" is not a drift; write a sign, a whole number and ppm, such as +500ppm`},
		{"drift c1 +500", `"+500" is not a drift; write a sign, a whole number and ppm, such as +500ppm`},
		{"drift c1 +0.5ppm", `"+0.5ppm" is not a drift; write a sign, a whole number and ppm, such as +500ppm`},
		{"drift c1 -1000000ppm", "drift -1000000ppm is out of range; the limits are -999999ppm and +999999ppm"},
		{"drift c1 +99999999999999999999ppm", "drift +99999999999999999999ppm is out of range; the limits are -999999ppm and +999999ppm"},
		{"slew n3 +2s", `cannot read "slew n3 +2s"; write slew PROCESS +DURATION or -DURATION over DURATION`},
		{"slew n3 +2s in 100s", `cannot read "slew n3 +2s in 100s"; write slew PROCESS +DURATION or -DURATION over DURATION`},
		{"slew n3 2s over 100s", `"2s" has no sign; write +2s for forward or -2s for back`},
		{"slew n3 -2s over 2s", "a slew by -2s takes longer than 2s; a correction that is as fast as time itself is a jump"},

		{"cut", `cannot read "cut"; write cut LINK`},
		{"cut c1", `"c1" is not a link; write c1-n4 for both directions, c1->n4 for one`},
		{"cut c1-N4", `in link "c1-N4": "N4" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"cut c1-n1-n2", `in link "c1-n1-n2": "n1-n2" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"cut c1->", `in link "c1->": "" is not the name of a process; a name consists of lower-case letters and digits, such as c1`},
		{"cut c1-c1", `link "c1-c1" has one end; a link joins two processes`},
		{"heal c1-n1 c1-n2", `cannot read "heal c1-n1 c1-n2"; write heal [LINK]`},
		{"release", `cannot read "release"; write release LINK`},
		{"delay c1->n1", `cannot read "delay c1->n1"; write delay LINK DURATION`},
		{"delay c1->n1 -1s", "duration -1s is negative; write 0s or more"},

		{"on request SET", `cannot read "on request SET"; write ` + onForm},
		{"on answer SET c1->n1 hold", `cannot read "on answer SET c1->n1 hold"; write ` + onForm},
		{"on request SET c1->n1 drop", `cannot read "on request SET c1->n1 drop"; write ` + onForm},
		{"on request SET c1->n1 delay", `cannot read "on request SET c1->n1 delay"; write ` + onForm},
		{"on request SET c1->n1 hold 5s", `cannot read "on request SET c1->n1 hold 5s"; write ` + onForm},
		{"on request SET c1->n1 delay 0s", "duration 0s is too short; write more than 0s"},
		{"on request SET c1-n1 hold", `"c1-n1" has two directions, but a message has one; write c1->n1 or n1->c1`},
		{"on request SET #01 c1->n1 hold", `"#01" must be a number from #2 to #100000; leave it out for the first`},
		{"on request SET #2", `cannot read "on request SET #2"; write ` + onForm},
		{"on request aquire c1->n1 hold", `"aquire" is neither a command in capitals, such as SET, nor an operation: acquire, release, write, read, extend, increment, update, enter`},
	} {
		f, err := history.ParseFault(c.text)
		if err == nil {
			t.Errorf("ParseFault(%q) = %#v, want an error", c.text, f)
		} else if err.Error() != c.want {
			t.Errorf("ParseFault(%q):\n got %s\nwant %s", c.text, err, c.want)
		}
		if err != nil && f != nil {
			t.Errorf("ParseFault(%q) returns %#v beside its error", c.text, f)
		}
	}
}

const onForm = "on request|reply COMMAND|OPERATION [#NUMBER] FROM->TO (hold|delay DURATION|reset)"

func TestFaultRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyFault().Draw(t, "fault")
		got, err := history.ParseFault(want.String())
		if err != nil || got != want {
			t.Fatalf("ParseFault(%q) = %#v, %v, want %#v", want, got, err, want)
		}
	})
}

// anyFault draws valid faults of every kind.
func anyFault() *rapid.Generator[history.Fault] {
	return rapid.Custom(func(t *rapid.T) history.Fault {
		process := rapid.StringMatching(`[a-z][a-z0-9]{0,8}`).Draw(t, "process")
		other := rapid.StringMatching(`[a-z][a-z0-9]{0,8}`).Filter(func(s string) bool { return s != process }).Draw(t, "other")
		link := history.Link{From: process, To: other, Both: rapid.Bool().Draw(t, "both")}
		span := rapid.Map(rapid.Int64Range(1, int64(history.MaxDuration)), func(i int64) time.Duration { return time.Duration(i) })
		d, sign := span.Draw(t, "duration"), rapid.SampledFrom([]time.Duration{-1, 1}).Draw(t, "sign")

		switch verb := rapid.SampledFrom(history.FaultVerbs()).Draw(t, "verb"); verb {
		case "pause":
			return history.Pause{Process: process, For: rapid.SampledFrom([]time.Duration{0, d}).Draw(t, "for")}
		case "resume":
			return history.Resume{Process: process}
		case "crash":
			return history.Crash{Process: process, Power: rapid.Bool().Draw(t, "power")}
		case "stop":
			return history.Stop{Process: process}
		case "promote":
			return history.Promote{Process: process}
		case "follow":
			return history.Follow{Process: process, Primary: other}
		case "restart":
			return history.Restart{Process: process, Empty: rapid.Bool().Draw(t, "empty")}
		case "jump":
			return history.Jump{Process: process, By: sign * d}
		case "drift":
			return history.Drift{Process: process, PPM: rapid.Int64Range(-history.MaxDriftPPM, history.MaxDriftPPM).Draw(t, "ppm")}
		case "slew":
			by := rapid.Int64Range(1, int64(max(1, d-1))).Draw(t, "by")
			return history.Slew{Process: process, By: sign * time.Duration(by), Over: max(d, 2)}
		case "cut":
			return history.Cut{Link: link}
		case "heal":
			return history.Heal{Link: rapid.SampledFrom([]history.Link{{}, link}).Draw(t, "link")}
		case "hold":
			return history.Hold{Link: link}
		case "release":
			return history.ReleaseLink{Link: link}
		case "delay":
			return history.Delay{Link: link, By: d - 1}
		case "reset":
			return history.Reset{Link: link}
		case "on":
			link.Both = false
			f := history.Chosen{
				Reply:  rapid.Bool().Draw(t, "reply"),
				What:   rapid.SampledFrom([]string{"SET", "EVALSHA", "JSON.SET", history.Acquire, history.Release, history.Write, history.Read}).Draw(t, "what"),
				Nth:    rapid.OneOf(rapid.Just(0), rapid.IntRange(2, history.MaxNth)).Draw(t, "nth"),
				Link:   link,
				Action: rapid.SampledFrom([]history.Action{history.HoldMessage, history.DelayMessage, history.ResetMessage}).Draw(t, "action"),
			}
			if f.Action == history.DelayMessage {
				f.By = d
			}
			return f
		default:
			t.Fatalf("no generator for %s", verb)
			return nil
		}
	})
}

func FuzzParseFault(f *testing.F) {
	for _, form := range forms {
		f.Add(form.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := history.ParseFault(text)
		if err != nil {
			return
		}
		again, err := history.ParseFault(fault.String())
		if err != nil || again != fault {
			t.Errorf("ParseFault(%q) = %#v, which prints %q, which parses to %#v, %v", text, fault, fault, again, err)
		}
	})
}
