package ledger

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

const shapePage = `# A page.

client %[1]s
  acquire
  write A
client %[2]s
  acquire within 20s
nemesis
  when n1 sets %[1]s pause %[1]s %[3]s

-- %[4]s nodes=1 checksum=%[5]s --
expect lease exclusion violated: none
   0.000s  %[1]s      invoke  acquire
!  0.006s  n1       set     lock            for %[1]s#1, the grant
!  0.006s  %[1]s      fault   pause %[1]s %[3]s
! 10.085s  n1..n3   set     lock            for %[2]s#90 until 11s, the grant on n2
! 10.085s  %[2]s      ok      acquire         %[2]s#90, no end
! 10.206s  %[1]s      ok      acquire         %[1]s#1, no end
! 10.209s  resource accept  A0              of %[1]s#1, which is quite long, and therefore goes on in the
                                    next line
verdict: UNSAFE
`

// TestShape checks that names, times and magnitudes do not count, and that what the resource did counts only where it proves something.
func TestShape(t *testing.T) {
	shape := func(property string, args ...any) string {
		page, err := script.Parse("page", fmt.Appendf(nil, shapePage, args...))
		if err != nil {
			t.Fatal(err)
		}
		return Shape(page, property)
	}
	const want = "node set for A; node set for B; B ok acquire; A ok acquire"
	for _, args := range [][]any{
		{"c1", "c2", "10s", "single", "14648949909bd30e"},
		{"c2", "c1", "12s", "mylock", "0000000000000000"},
	} {
		if got := shape("lease exclusion", args...); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if got := shape("resource exclusion", args...); got != want+"; resource accept of A" {
			t.Errorf("%s", got)
		}
	}
}

// TestShapeIsLikeOutline compares shapes with the outlines of the same violations, which are taken from histories. In the catalogue,
// violations with the same shape have the same outline. The reverse is not so: a shape says whose keys it is about, and a page that
// violates several properties marks the proofs of all.
func TestShapeIsLikeOutline(t *testing.T) {
	if testing.Short() {
		t.Skip("plays the catalogue")
	}
	play.QuietRedis()
	pages, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	outlines := map[string][]string{}
	find := func(name string) (clients.New, bool) {
		for _, l := range clients.Locks() {
			if l.Name == name {
				return l.New, true
			}
		}
		return nil, false
	}
	played := 0
	for _, page := range pages {
		for _, run := range page.Runs {
			lock, ok := find(run.Lock)
			if !ok || run.Golden == "" || run.Guests {
				continue
			}
			o, err := play.Simulate(page, run, lock, max(run.Seed, 1))
			if err != nil {
				continue
			}
			one := *page
			one.Runs = []script.Section{run}
			for _, f := range o.Failing() {
				for _, v := range o.Result.Violations {
					if f.Is(v) {
						played++
						key := string(f.Property) + ": " + Shape(&one, string(f.Property))
						if outline := asShown(search.Outline(o.History, v)); !slices.Contains(outlines[key], outline) {
							outlines[key] = append(outlines[key], outline)
						}
						break
					}
				}
			}
		}
	}
	if played < 100 {
		t.Errorf("only %d violations", played)
	}
	for _, key := range slices.Sorted(maps.Keys(outlines)) {
		if len(outlines[key]) > 1 {
			t.Errorf("%s\nhas several outlines:\n%s", key, strings.Join(outlines[key], "\n"))
		}
	}
}

// asShown returns an outline without what a timeline does not show: it leaves exits out, and does not say whether a key that is set was there before.
func asShown(outline string) string {
	return strings.ReplaceAll(exits.ReplaceAllString(outline, ""), "node over ", "node set ")
}

var exits = regexp.MustCompile(`; client [A-Z] exit [a-z]+`)
