package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// limitsText prints a sheet.
type limitsText struct {
	*search.Sheet
	w        io.Writer
	flags    *limitsFlags
	restless bool
	files    map[*search.Side]string // with --out
}

// having is something in --have, as --json has it.
type having struct {
	Have   string `json:"have"`
	Limit  string `json:"quantity"` // the row that it is compared with
	Within bool   `json:"within"`
}

// having compares the sheet with --have.
func (y *limitsText) having() []having {
	all := []having{}
	for _, h := range y.flags.haves {
		for i := range y.Rows {
			if t := &y.Rows[i]; h.About(t) {
				all = append(all, having{h.String(), t.Name(), h.Within(t)})
			}
		}
	}
	return all
}

// status is the exit status.
func (y *limitsText) status() error {
	if y.NothingProved() {
		return status(exitUnknown)
	}
	for _, h := range y.having() {
		if !h.Within {
			return status(exitUnexpected)
		}
	}
	return nil
}

func (y *limitsText) json() error {
	s := y.flags.shape
	return json.NewEncoder(y.w).Encode(struct {
		Lock     string   `json:"lock"`
		Nodes    int      `json:"nodes"`
		Replicas int      `json:"replicas"`
		Clients  int      `json:"clients"`
		Resource string   `json:"resource"`
		Pool     string   `json:"pool,omitempty"`
		TTL      string   `json:"ttl"`
		Work     string   `json:"work,omitempty"` // empty: that of each workload
		Seed     uint64   `json:"seed"`
		Restless bool     `json:"restless,omitempty"`
		Have     []having `json:"have"`
		*search.Sheet
	}{s.Lock, s.Nodes, s.Replicas, s.Clients, s.Resource, s.Pool, history.FormatDuration(s.TTL), workText(s.Work), y.flags.seed, y.restless, y.having(), y.Sheet})
}

func workText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return history.FormatDuration(d)
}

// head names the lock and its setting.
func (y *limitsText) head() string {
	s := y.flags.shape
	text := fmt.Sprintf("%s on %s", s.Lock, many(s.Nodes, "node"))
	if s.Replicas > 0 {
		text += " with " + many(s.Replicas, "replica")
	}
	return text + fmt.Sprintf(", %s, TTL %s", many(s.Clients, "client"), history.FormatDuration(s.TTL))
}

// work says how long clients work.
func (y *limitsText) work() string {
	if y.flags.shape.Work > 0 {
		return "work " + history.FormatDuration(y.flags.shape.Work)
	}
	var all []string
	for _, c := range y.Calm {
		if c.Unfit == "" {
			all = append(all, fmt.Sprintf("%s (%s)", history.FormatDuration(c.Workload.Work(y.flags.shape.TTL)), c.Workload))
		}
	}
	if len(all) == 0 {
		return "no workload that can be perturbed"
	}
	return "work " + strings.Join(all, ", ")
}

func (y *limitsText) print() {
	printWrappedFlush(y.w, fmt.Sprintf("%s, %s, seed %d", y.head(), y.work(), y.flags.seed))
	fmt.Fprintln(y.w)
	y.table()
	for _, c := range y.Calm {
		if c.Unfit != "" {
			y.say("Workload %s is left out: %s.", c.Workload, c.Unfit)
		}
	}
	switch {
	case y.Runs == 0:
		y.say("Nothing is proved: no run could be perturbed.")
	case y.NothingProved():
		y.say("Nothing is proved: no run with a perturbation proves anything.")
	}
	if y.Runs > 0 {
		y.say("%s", y.sum())
	}
	for _, b := range y.Broken {
		why, _, _ := strings.Cut(b.Why, "\n")
		plan := "one of the perturbed runs"
		if len(b.Plan) > 0 {
			plan = b.Plan[0].String()
		}
		y.say("A run that did not end, with `%s`: %s", plan, why)
	}
	if y.restless {
		y.say("%s is restless: its runs differ, and so may the sheet.", y.flags.shape.Lock)
	}
	for _, sentence := range y.headlines() {
		y.say("%s", sentence)
	}
	y.verdicts()
	if y.files != nil {
		y.say("The runs on either side of each limit are in %s; lockstep replay repeats them.", y.flags.out)
	}
}

// say prints a sentence.
func (y *limitsText) say(format string, args ...any) {
	printWrappedFlush(y.w, fmt.Sprintf(format, args...))
}

// printWrappedFlush prints a sentence without indentation.
func printWrappedFlush(w io.Writer, text string) {
	fmt.Fprintln(w, wrap(reports.Visible(text), reports.Width))
}

// sum counts the runs.
func (y *limitsText) sum() string {
	text := fmt.Sprintf("%s runs, one perturbation in each", search.Grouped(y.Runs))
	if y.Unproved > 0 {
		text += fmt.Sprintf("; %s prove nothing, and count as neither harmless nor harmful", search.Grouped(y.Unproved))
	}
	return text + "."
}

// table prints a row for each limit, and one for each quantity without.
func (y *limitsText) table() {
	if len(y.Rows) == 0 {
		return
	}
	header := table.Row{"quantity", "harmless", "too much", "violated", "assumption broken", "injection point"}
	var rows []table.Row
	for i := range y.Rows {
		t := &y.Rows[i]
		for k, e := range t.Limits {
			name := t.Name()
			if k > 0 {
				name = ""
			}
			harmless := "-"
			if e.Harmless > 0 || t.Unit == search.Number {
				harmless = t.Text(e.Harmless)
			}
			breaks := string(e.Assumption)
			rows = append(rows, table.Row{name, harmless, t.Text(e.Harmful), string(e.Harm), breaks, e.Where})
		}
		if len(t.Limits) == 0 {
			rows = append(rows, y.unlimited(t))
		}
	}
	fmt.Fprintf(y.w, "%s\n\n", narrow(reports.Width, header, rows))
}

// unlimited is the row of a quantity that violates nothing.
func (y *limitsText) unlimited(t *search.Tolerance) table.Row {
	switch {
	case t.Sites == 0:
		return table.Row{t.Name(), "-", "-", "nothing to perturb", "", ""}
	case t.Unproved == t.Runs:
		return table.Row{t.Name(), "-", "-", "nothing is proved", "", ""}
	case !t.Effective():
		return table.Row{t.Name(), t.Text(t.Top), "-", "no effect", "", ""}
	case t.Harmless == 0:
		return table.Row{t.Name(), "-", "-", "nothing", "", ""}
	}
	return table.Row{t.Name(), t.Text(t.Harmless), "-", "nothing", "", ""}
}

// headlines are the limits in sentences: the first violation of mutual exclusion by each of the quantities that operators measure.
func (y *limitsText) headlines() []string {
	var all []string
	for i := range y.Rows {
		t := &y.Rows[i]
		if t.Quantity != "pause" {
			continue
		}
		for _, e := range t.Limits {
			if e.Harmless > 0 {
				all = append(all, fmt.Sprintf("A pause of %s does no harm; one of %s violates %s, at the worst moment.", t.Text(e.Harmless), t.Text(e.Harmful), e.Harm))
				break
			}
		}
	}
	return all
}

// verdicts says what of --have is within.
func (y *limitsText) verdicts() {
	if len(y.flags.haves) == 0 {
		return
	}
	fmt.Fprintln(y.w)
	var rows []table.Row
	for _, h := range y.flags.haves {
		for i := range y.Rows {
			t := &y.Rows[i]
			if !h.About(t) {
				continue
			}
			within, why := "within", "harmless up to "+t.Text(t.Harmless)
			switch {
			case h.Within(t) && !t.Effective():
				why = "no effect"
			case h.Within(t):
			case len(t.Limits) > 0 && h.Value >= t.Limits[0].Harmful:
				within, why = "NOT WITHIN", fmt.Sprintf("%s violates %s", t.Text(t.Limits[0].Harmful), t.Limits[0].Harm)
			case t.Harmless == 0:
				within, why = "NOT SHOWN", "no magnitude is shown to be harmless"
			default:
				within, why = "NOT SHOWN", "shown to be harmless only up to "+t.Text(t.Harmless)
			}
			rows = append(rows, table.Row{t.Name(), h.Text(), within, why})
		}
	}
	fmt.Fprintf(y.w, "%s\n", narrow(reports.Width, table.Row{"you have", "", "", ""}, rows))
}

// stuck are the harms in which the lock is not granted for too long. All others let two clients act at once, or worse.
var stuck = map[search.Harm]bool{search.Harm(checker.DeadlockFreedom): true, search.Harm(checker.FaultTolerance): true, search.NoLease: true}

// plot draws the sheet.
func (y *limitsText) plot() *pictures.Plot {
	var rows []pictures.LimitRow
	for i := range y.Rows {
		t := &y.Rows[i]
		r := pictures.LimitRow{Name: t.Name(), About: t.About(), Unit: string(t.Unit), Top: y.value(t, t.Top), Harmless: y.value(t, t.Harmless), NoEffect: !t.Effective(), Text: t.Text(t.Harmless)}
		for _, e := range t.Limits {
			l := pictures.LimitMark{At: y.value(t, e.Harmful), Text: t.Text(e.Harmful), What: string(e.Harm), Stuck: stuck[e.Harm]}
			r.Limits = append(r.Limits, l)
		}
		for _, h := range y.flags.haves {
			if h.About(t) {
				r.Have, r.HaveText, r.Within = y.value(t, h.Value), h.Text(), h.Within(t)
			}
		}
		rows = append(rows, r)
	}
	foot := fmt.Sprintf("%s The worst moment of each run counts. Seed %d.", y.sum(), y.flags.seed)
	return pictures.NewLimitsPlot(y.head(), y.work(), foot, y.TTL, rows)
}

// value is a magnitude in the unit of its row.
func (y *limitsText) value(t *search.Tolerance, v int64) float64 {
	if t.Unit == search.Seconds {
		return time.Duration(v).Seconds()
	}
	return float64(v)
}
