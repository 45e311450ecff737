package reader

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

const handled = `# Two pauses, and a crash.
#
# client c1 is not a lane here.

client c1
  acquire
  pause 15s
  pause 15s
  release
client c2
  until 12s
  acquire
nemesis
  crash n3
must c1 resumes after its lease ended

-- redlock nodes=5 --
client c2
  until 13s
  acquire
nemesis
  drift n2 +500ppm
  when c1 acquired crash n1
  when c1 acquired +2s restart n1 empty
  at 3s pause n4 2s
  at 4s cut c1-n5
-- redlock nodes=5 label=other --
client c1
  acquire
`

func TestHandles(t *testing.T) {
	a := Play(Request{Script: handled})
	if len(a.Errors) > 0 {
		t.Fatal(a.Errors)
	}
	if a.Script != handled {
		t.Errorf("the script is not as its author wrote it:\n%s", a.Script)
	}
	var got []string
	for _, h := range a.Handles {
		got = append(got, strings.TrimSpace(h.What)+" @ "+history.FormatDuration(h.At.Round(100*time.Millisecond))+" ("+h.Lane+"): "+strings.TrimSpace(h.Text)+" "+history.FormatDuration(h.Value))
		if line := strings.Split(handled, "\n")[h.Line-1]; h.Value > 0 && line != strings.Replace(h.Text, "%", history.FormatDuration(h.Value), 1) {
			t.Errorf("line %d is %q; the handle has %q", h.Line, line, h.Text)
		}
	}
	want := []string{
		"the end of pause c1 15s @ 15s (c1): pause % 15s",
		"the end of pause c1 15s @ 30s (c1): pause % 15s",
		"until 13s @ 13s (c2): until % 13s",
		"crash n1 @ 0s (n1): when c1 acquired +% crash n1 0s",
		"restart n1 empty @ 2s (n1): when c1 acquired +% restart n1 empty 2s",
		"pause n4 2s @ 3s (n4): at % pause n4 2s 3s",
		"the end of pause n4 2s @ 5s (n4): at 3s pause n4 % 2s",
		"cut c1-n5 @ 4s (c1-n5): at % cut c1-n5 4s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Each fault of the catalogue that happened has its handle where it happened, and each duration there is that of its line.
func TestHandlesOfCatalogue(t *testing.T) {
	stories, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for n, s := range stories {
		for _, r := range s.Runs {
			build, err := clients.Find(r.Lock)
			if err != nil || r.Guests || testing.Short() && n%10 > 0 {
				continue
			}
			o, err := play.Simulate(s, r, build, max(r.Seed, 1))
			if err != nil {
				t.Fatal(err)
			}
			text := alone(s, r)
			lines := strings.Split(text, "\n")
			for _, h := range handles(text, o.History) {
				count++
				with := strings.Replace(h.Text, "%", history.FormatDuration(h.Value), 1)
				if h.Value == 0 {
					with = strings.Replace(strings.Replace(h.Text, "+% ", "", 1), "%", "0s", 1)
				}
				if lines[h.Line-1] != with {
					t.Errorf("%s/%s: line %d is %q; the handle has %q", s.Name, r.ID(), h.Line, lines[h.Line-1], with)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no handles")
	}
}

func TestFork(t *testing.T) {
	const at = 2*time.Second + 5*time.Microsecond
	lanes := "# A.\n\nclient c1\n  acquire\n"
	for _, c := range []struct{ what, text, want string }{
		{"into the lane of the run", handled, "  at 4s cut c1-n5\n  at 2000005µs \n-- redlock"},
		{"into the lane of the page", lanes + "nemesis\n  crash n1\nmust c1 acquires\n\n-- single nodes=1 --\n", "  crash n1\n  at 2000005µs \nmust"},
		{"into a new lane", lanes + "must c1 acquires\n\n-- single nodes=1 --\n", "  acquire\nnemesis\n  at 2000005µs \nmust"},
		{"into a new lane at the end", lanes + "\n-- single nodes=1 --\n", "  acquire\nnemesis\n  at 2000005µs \n\n-- single"},
		{"into nothing", "", "nemesis\n  at 2000005µs "},
	} {
		a := Play(Request{Script: c.text, Want: Fork, At: at})
		if !strings.Contains(a.Script, c.want) {
			t.Errorf("%s:\n%s", c.what, a.Script)
		}
		if lines := strings.Split(a.Script, "\n"); a.Line < 1 || a.Line > len(lines) || lines[a.Line-1] != "  at 2000005µs " {
			t.Errorf("%s: line %d", c.what, a.Line)
		}
		if c.text == "" {
			continue
		}
		done := strings.Replace(a.Script, "  at 2000005µs ", "  at 2000005µs pause c1 1s", 1)
		if b := Play(Request{Script: done, Want: Mistakes}); len(b.Errors) > 0 || b.Statuses != nil {
			t.Errorf("%s: %v", c.what, b.Errors)
		}
	}
}

func TestCompletions(t *testing.T) {
	a := Play(Request{Script: handled, Want: Completions, Line: 14, Before: "  at 5s cra"})
	if len(a.Completions) != 1 || a.Completions[0].Text != "crash" {
		t.Errorf("%+v", a)
	}
}

// The runs that the page offers can be played.
func TestPages(t *testing.T) {
	n := 0
	for _, p := range menu(t).Pages {
		for _, r := range p.Runs {
			n++
			if a := Play(Request{Run: p.Name + "/" + r, Want: Mistakes}); len(a.Errors) > 0 {
				t.Errorf("%s/%s: %v", p.Name, r, a.Errors)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d runs", n)
	}
}

// A link leads to the same run: by its name, if it is one of the catalogue.
func TestLink(t *testing.T) {
	for _, c := range []struct {
		run  string
		lock string
		seed uint64
		want string
	}{
		{"clock-jump/redlock", "", 1, "clock-jump/redlock"},
		{"clock-jump/redlock", "", 2, "lk1."},
		{"clock-jump/redlock", "redlock-wall", 1, "lk1."},
		{"clock-jump/redlock", "redsync", 1, "libraries are not part of this page"},
		{"sweep-delay/single", "", 1, "a sweep is a series of runs"},
	} {
		s, r, err := find(c.run)
		if err != nil {
			t.Fatal(err)
		}
		if c.lock != "" {
			r = r.With(c.lock)
		}
		link, err := Link(s, r, c.seed)
		if got := link + text(err); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
		if err != nil || link == c.run {
			continue
		}
		build, _ := clients.Find(r.Lock)
		o, err := play.Simulate(s, r, build, c.seed)
		if err != nil {
			t.Fatal(err)
		}
		if a := Play(Request{Token: link}); a.Checksum != o.History.Meta.Checksum {
			t.Errorf("%+v: the link leads to %s, %v; want %s", c, a.Checksum, a.Errors, o.History.Meta.Checksum)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A fault cannot be moved to where all faults are undone, because it would not happen there. The end of a pause can, and the run gets longer.
func TestMost(t *testing.T) {
	for _, h := range Play(Request{Run: "crash-restart-5/redlock"}).Handles {
		if h.What == "restart n3 empty" && (h.Most <= h.Value || h.Most%time.Millisecond != 0) {
			t.Errorf("%s is at %v, and may be at %v", h.What, h.Value, h.Most)
		}
	}
	for _, h := range Play(Request{Run: "pause-after-acquire/redlock"}).Handles {
		if strings.HasPrefix(h.What, "the end of") && h.Most != 0 {
			t.Errorf("%s may be at %v at most", h.What, h.Most)
		}
	}
}
