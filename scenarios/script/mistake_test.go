package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// However long a line is, what is said of it is not.
func TestParseErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, text := range []string{
		"# " + long,
		"# A title.\n" + long,
		"# A title.\nclient " + long,
		"# A title.\nclient c1\n  " + long,
		"# A title.\nclient c1\n  acquire within " + long,
		"# A title.\nclient c1\n  acquire\n-- " + long,
		"# A title.\nclient c1\n  acquire\n-- " + long + " --",
		"# A title.\nclient c1\n  acquire\n-- single nodes=1 " + long + " --",
		"# A title.\nclient c1\n  acquire\n-- single nodes=1 label=" + long + " --",
		"# A title.\nclient c1\n  acquire\n-- single nodes=1 checksum=" + long + " --",
		"# A title.\nclient c1\n  acquire\n-- single nodes=1 --\nexpect " + long,
	} {
		if _, err := Parse("x.txtar", []byte(text)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.60q: %d bytes", text, len(fmt.Sprint(err)))
		}
	}
}

// Each line that cannot be read is an error of its own, and brings no others with it.
func TestParseReportsAllErrors(t *testing.T) {
	const page = `# A page with mistakes.

tll 10s
client c1
  acqiure
  write A
  # No comment.
  pause soon
clinet c2
  acquire
  release
must c1 sleeps well
report laughter
# Late prose,
# of two lines.

-- single nodes=none --
expect lease exclusion violatde
expect tokens ok
-- redlock nodes=5 --
nemesis
  at 1s burn n1
expect exclusion violated
  release
   0.000s  c1       invoke  acquire
verdict: SAFE
`
	_, err := Parse("all.txtar", []byte(page))
	if err == nil {
		t.Fatal("no error")
	}
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		got = append(got, strings.Join(strings.Fields(line)[:3], " "))
	}
	want := []string{
		`all.txtar:3: unknown setting`, `all.txtar:5: unknown step`, `all.txtar:7: no comment`, `all.txtar:8: "soon" must`,
		`all.txtar:9: unknown setting`, `all.txtar:12: must: unknown`, `all.txtar:13: unknown quantity`, `all.txtar:14: prose belongs`,
		`all.txtar:17: nodes=none: write`, `all.txtar:18: unknown outcome`, `and 2 more`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nof\n%v", strings.Join(got, "\n"), err)
	}
	var at *Error
	if !errors.As(err, &at) || at.File != "all.txtar" || at.Line != 3 {
		t.Errorf("the first mistake is %v", at)
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
