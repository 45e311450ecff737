package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

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
	for _, c := range y.Compare(y.flags.haves) {
		all = append(all, having{c.Have.String(), c.Row.Name(), c.Within})
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
		Restless bool     `json:"nondeterministic,omitempty"`
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

func (y *limitsText) print() {
	y.say("%s, %s, seed %d", y.flags.shape.Title(), y.Work(y.flags.shape), y.flags.seed)
	fmt.Fprintln(y.w)
	if rows := y.Table(); rows != nil {
		fmt.Fprintf(y.w, "%s\n\n", y.aligned(rows))
	}
	for _, sentence := range y.Sentences() {
		y.say("%s", sentence)
	}
	if y.restless {
		y.say("Native runs of %s cannot always be repeated, so the sheet may differ the next time.", y.flags.shape.Lock)
	}
	if len(y.flags.haves) > 0 {
		fmt.Fprintln(y.w)
		rows := [][]string{{"you have", "", "", ""}}
		for _, c := range y.Compare(y.flags.haves) {
			rows = append(rows, []string{c.Row.Name(), c.Have.Text(), c.Word, c.Why})
		}
		fmt.Fprintf(y.w, "%s\n", y.aligned(rows))
	}
	if y.files != nil {
		y.say("The runs on either side of each limit are in %s; lockstep replay repeats them.", y.flags.out)
	}
}

// aligned renders rows, of which the first is the header.
func (y *limitsText) aligned(rows [][]string) string {
	var all []table.Row
	for _, cells := range rows {
		var r table.Row
		for _, cell := range cells {
			r = append(r, cell)
		}
		all = append(all, r)
	}
	return narrow(reports.Width, all[0], all[1:])
}

// say prints a sentence.
func (y *limitsText) say(format string, args ...any) {
	fmt.Fprintln(y.w, wrap(reports.Visible(fmt.Sprintf(format, args...)), reports.Width))
}

// plot draws the sheet.
func (y *limitsText) plot() *pictures.Plot {
	var rows []pictures.LimitRow
	for i := range y.Rows {
		t := &y.Rows[i]
		r := pictures.LimitRow{Name: t.Name(), About: t.About(), Unit: string(t.Unit), Top: y.value(t, t.Top), Harmless: y.value(t, t.Harmless), NoEffect: !t.Effective(), Text: t.Text(t.Harmless)}
		for _, e := range t.Limits {
			l := pictures.LimitMark{At: y.value(t, e.Harmful), Text: t.Text(e.Harmful), What: string(e.Harm), Stuck: e.Harm.Stuck()}
			r.Limits = append(r.Limits, l)
		}
		for _, h := range y.flags.haves {
			if h.About(t) {
				r.Have, r.HaveText, r.Within = y.value(t, h.Value), h.Text(), h.Within(t)
			}
		}
		rows = append(rows, r)
	}
	foot := fmt.Sprintf("%s The worst moment of each run counts. Seed %d.", y.Sum(), y.flags.seed)
	return pictures.NewLimitsPlot(y.flags.shape.Title(), y.Work(y.flags.shape), foot, y.TTL, rows)
}

// value is a magnitude in the unit of its row.
func (y *limitsText) value(t *search.Tolerance, v int64) float64 {
	if t.Unit == search.Seconds {
		return time.Duration(v).Seconds()
	}
	return float64(v)
}
