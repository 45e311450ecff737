package packagetime

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/sim/history"
	"lockstep/sim/overlay"
)

// A program with another package time is built and run: its clocks can be set, and everything that waits follows them.
func TestBuild(t *testing.T) {
	needSupport(t)
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	program := filepath.Join(t.TempDir(), "clock")
	if err := Build(t.Context(), "testdata/clock", false, nil, program); err != nil {
		t.Fatal(err)
	}
	// On a busy machine anything may take longer, so one run of several must be right.
	for try := 1; ; try++ {
		out, err := exec.Command(program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wrong := wrongClocks(string(out))
		if len(wrong) == 0 {
			return
		}
		t.Logf("try %d: %s", try, strings.Join(wrong, "; "))
		if try == 8 {
			t.Fatal("no run was right")
		}
	}
}

// needSupport skips a test where no program can be built with another package time; in CI it fails.
func needSupport(t *testing.T) {
	t.Helper()
	if err := Supported(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// wrongClocks lists what the program in testdata/clock said that is not right.
func wrongClocks(out string) (wrong []string) {
	said := map[string]string{}
	for line := range strings.Lines(out) {
		what, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[what] = value
	}
	for what, want := range map[string]string{"set": "back -20s 0s", "reads": "1", "since": "400ms 400ms", "slew": "300ms 200ms"} {
		if said[what] != want {
			wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", what, said[what], want))
		}
	}
	for _, what := range []string{"timer", "sleep", "after", "func", "tick", "context", "deadline"} {
		var ms int
		if fmt.Sscan(said[what], &ms); ms < 195 || ms > 300 {
			wrong = append(wrong, fmt.Sprintf("%s: %d ms by the clock of the machine, want 200", what, ms))
		}
	}
	return wrong
}

// A release of Go whose package time is different is refused, and the error has the line that is missing.
func TestUnknownRelease(t *testing.T) {
	needSupport(t)
	was := changes
	defer func() { changes = was }()
	changes = append([]overlay.Change{{File: "time/time.go", Old: "func Then()", N: 1}}, was...)
	err := Build(t.Context(), "testdata/clock", false, nil, filepath.Join(t.TempDir(), "clock"))
	if err == nil || !strings.Contains(err.Error(), `time.go contains "func Then()" 0 times, not 1`) {
		t.Error(err)
	}
}

// What the changed package time shows is what the clock of a process in simulation shows.
func TestErrorOf(t *testing.T) {
	const start = 5_000_000_000
	for _, c := range []history.Clock{
		{},
		{Set: 3 * time.Second, Ahead: -20 * time.Second},
		{Since: time.Second, Steady: 1100 * time.Millisecond, PPM: -100_000},
		{Since: time.Second, Steady: time.Second, PPM: 10_000, Set: 2 * time.Second, Ahead: time.Second, Slew: -time.Second, Over: 4 * time.Second},
		{Set: 2 * time.Second, Slew: time.Second, Over: time.Second, Since: 5 * time.Second, Steady: 5 * time.Second, PPM: 100_000},
	} {
		e := errorOf(c, start)
		for d := time.Duration(0); d < 10*time.Second; d += 100 * time.Millisecond {
			at := max(c.Since, c.Set) + d
			mono := float64(start + int64(at))
			steady := float64(e.steady) + (mono-float64(e.since))*e.drift
			wall := steady + float64(e.wall) + (min(mono, float64(e.until))-float64(e.since))*e.slew
			if math.Abs(steady-float64(c.Reading(at)-at)) > 1e3 || math.Abs(wall-float64(c.Wall(at)-at)) > 1e3 {
				t.Fatalf("%+v at %v: ahead by %v and %v, want %v and %v", c, at, time.Duration(steady), time.Duration(wall), c.Reading(at)-at, c.Wall(at)-at)
			}
		}
	}
}
