package pictures

import (
	"strings"
	"testing"

	"lockstep/checker"
)

func handmadeAgreements() *Agreements {
	return &Agreements{
		Command: "lockstep matrix --on both --repeat 10", Repetitions: 10,
		Rows: []AgreementRow{
			{Scenario: "pause", Run: "single", Speed: 20, Simulated: checker.Unsafe, Broken: []checker.Assumption{checker.BoundedPause}, Done: 10, Agree: 10, Alike: 10},
			{Scenario: "pause", Run: "fenced", Speed: 2.5, Simulated: checker.Safe, Done: 10, Agree: 8, Unproved: 1, Alike: 9,
				Why: "resource exclusion: ok, then violated | in one", Operation: "c1, operation 2: write A ok, then write A fail", Command: "lockstep run pause/fenced --on redis"},
			{Scenario: "late", Run: "redlock/replies", Speed: 1, Simulated: checker.Safe, Done: 4, Agree: 2, Unproved: 2, Alike: 4, Why: "nothing is proved", Command: "lockstep run late/redlock/replies --on redis"},
		},
		SimOnly: []SimOnly{{"drift", "redlock", "a drift of n1"}},
	}
}

func TestAgreementsText(t *testing.T) {
	var b strings.Builder
	if err := handmadeAgreements().WriteText(&b, MatrixOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = `run                   speed  simulation  real servers                operations
pause/single             20  UNSAFE P    10 of 10                    alike
pause/fenced            2.5  SAFE        8 of 10, 1 prove nothing    alike in 9
late/redlock/replies      1  SAFE        2 of 4, 2 prove nothing     alike

In 1 of 3 runs, real servers agree with simulation in every repetition. Of 24 repetitions in all, 20
  agree, and 3 prove nothing; in 23, all operations of all clients had the same outcome.
Simulation: the verdict, and the assumptions that were broken. Real servers: how many repetitions
  were judged the same, property by property, assumption by assumption. Operations: whether every
  acquire, write and release of every client had the same outcome; times are not compared.

pause/fenced
  resource exclusion: ok, then violated | in one
  lockstep run pause/fenced --on redis

late/redlock/replies
  nothing is proved
  lockstep run late/redlock/replies --on redis

in simulation only
  drift/redlock: a drift of n1
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAgreementsMarkdown(t *testing.T) {
	var b strings.Builder
	if err := handmadeAgreements().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`lockstep matrix --on both --repeat 10`",
		"| pause/single | 20 | UNSAFE P | 10 of 10 | alike |",
		"| pause/fenced | 2.5 | SAFE | **8 of 10, 1 prove nothing** | alike in 9 |",
		`- **pause/fenced**: resource exclusion: ok, then violated \| in one`,
		"| drift/redlock | a drift of n1 |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}
