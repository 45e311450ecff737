package claims

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// A Quantity is something in the runs of a claim that a reader can change, such as the length of a pause, to see from which value on the
// outcome is another.
type Quantity struct {
	Scenario string
	What     string // it is, in words
	From, To string // the smallest and the largest value

	line *regexp.Regexp // the steps that have it, and the line that sets the TTL
}

var vary = regexp.MustCompile(`^([a-z0-9-]+): ([^?]*\?[^?]*), (\S+) to (\S+): (.+)$`)

// parseQuantity parses what stands in the field vary.
func parseQuantity(text string) (Quantity, error) {
	m := vary.FindStringSubmatch(text)
	if m == nil {
		return Quantity{}, fmt.Errorf("vary must be SCENARIO: STEP, FROM to TO: WHAT, with ? for the value in the step and * for any word, such as pause-after-acquire: pause ?, 1s to 25s: how long c1 is paused; cannot read %.60q", text)
	}
	q := Quantity{Scenario: m[1], From: m[3], To: m[4], What: m[5]}
	step := regexp.QuoteMeta(m[2])
	step = strings.NewReplacer(`\*`, `\S+`, `\?`, `(\S+)`).Replace(step)
	q.line = regexp.MustCompile(`^\s*` + step + `$`)
	if _, err := q.Values(""); err != nil {
		return Quantity{}, err
	}
	return q, nil
}

// In returns the value that the quantity has in a scenario file with a single run, and reports whether it has one.
func (q Quantity) In(text string) (value string, ok bool) {
	for line := range strings.Lines(text) {
		if m := q.line.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			return m[1], true
		}
	}
	return "", false
}

// Set returns the scenario file with another value.
func (q Quantity) Set(text, value string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if m := q.line.FindStringSubmatchIndex(strings.TrimSuffix(line, "\n")); m != nil {
			lines[i] = line[:m[2]] + value + line[m[3]:]
		}
	}
	return strings.Join(lines, "")
}

// mostValues is how many values a reader can choose from, but for the one that the run has.
const mostValues = 50

// Values lists the values that a reader can choose from, in order. They are evenly spaced, and include the one that a run has.
func (q Quantity) Values(own string) ([]string, error) {
	u, from, err := readNumber(q.From)
	if err != nil {
		return nil, err
	}
	v, to, err := readNumber(q.To)
	if err != nil {
		return nil, err
	}
	if u != v || from >= to {
		return nil, fmt.Errorf("a quantity must go from a value to a greater one of the same kind, such as 1s to 25s; got %s to %s", q.From, q.To)
	}
	step := int64(1)
	for f, i := int64(1), 0; (to-from)/step > mostValues; i++ {
		step = f * []int64{1, 2, 5}[i%3]
		if i%3 == 2 {
			f *= 10
		}
	}
	var all []int64
	for n := from; n <= to; n += step {
		all = append(all, n)
	}
	if own != "" {
		w, n, err := readNumber(own)
		if err != nil || w != u {
			return nil, fmt.Errorf("%s must be of the same kind as %s", own, q.From)
		}
		if i, there := slices.BinarySearch(all, n); !there {
			all = slices.Insert(all, i, n)
		}
	}
	var values []string
	for _, n := range all {
		values = append(values, u.print(n))
	}
	return values, nil
}

// A unit is the kind of a quantity: a duration in milliseconds, or a rate in parts per million.
type unit struct {
	signed bool
	rate   bool
}

func readNumber(text string) (unit, int64, error) {
	u := unit{signed: strings.HasPrefix(text, "+")}
	rest := strings.TrimPrefix(text, "+")
	if ppm, ok := strings.CutSuffix(rest, "ppm"); ok {
		n, err := strconv.ParseInt(ppm, 10, 32)
		u.rate = true
		if err != nil || n < 0 {
			return u, 0, fmt.Errorf("a rate must be a number of ppm such as +13000ppm, not %s", text)
		}
		return u, n, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > 24*time.Hour || d%time.Millisecond != 0 {
		return u, 0, fmt.Errorf("a quantity must be a duration such as 15s, of at most a day and in whole milliseconds, or a rate such as +13000ppm; not %s", text)
	}
	return u, d.Milliseconds(), nil
}

func (u unit) print(n int64) string {
	s := history.FormatDuration(time.Duration(n) * time.Millisecond)
	if u.rate {
		s = fmt.Sprintf("%dppm", n)
	}
	if u.signed {
		s = "+" + s
	}
	return s
}
