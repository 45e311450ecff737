package pictures

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
)

// Agreements says how far simulation and real servers agree. Each row is a run, made once in simulation and several times on
// redis-server.
type Agreements struct {
	Command     string         `json:"command"`     // makes all of it again
	Repetitions int            `json:"repetitions"` // on real servers
	Rows        []AgreementRow `json:"rows"`
	SimOnly     []SimOnly      `json:"sim_only"`
}

// An AgreementRow is one run.
type AgreementRow struct {
	Scenario  string               `json:"scenario"`
	Run       string               `json:"run"`       // within the scenario
	Speed     float64              `json:"speed"`     // what durations were divided by on real servers
	Simulated checker.Verdict      `json:"simulated"` // the verdict in simulation
	Broken    []checker.Assumption `json:"broken"`    // the assumptions broken in simulation
	Done      int                  `json:"done"`      // repetitions on real servers; fewer than Repetitions if they were interrupted
	Agree     int                  `json:"agree"`     // how many of them were judged as in simulation, property by property
	Unproved  int                  `json:"unproved"`  // how many of them prove nothing
	Alike     int                  `json:"alike"`     // in how many of them every operation of every client had the same outcome
	// Why says what was judged differently in the first repetition that does not agree, or why it proves nothing.
	Why string `json:"why,omitempty"`
	// Operation is the first operation with a different outcome, in the first such repetition.
	Operation string `json:"operation,omitempty"`
	Command   string `json:"command"` // makes the run on real servers
}

// SimOnly is a run that exists in simulation only.
type SimOnly struct {
	Scenario string `json:"scenario"`
	Run      string `json:"run"`
	Why      string `json:"why"`
}

// agrees reports whether every repetition was judged as in simulation.
func (r AgreementRow) agrees() bool { return r.Agree == r.Done }

func (r AgreementRow) verdict() string {
	s := string(r.Simulated)
	if r.Simulated == checker.Unsafe {
		s += " "
		for _, a := range r.Broken {
			s += letterOf(a).letter
		}
	}
	return s
}

func (r AgreementRow) real() string {
	s := fmt.Sprintf("%d of %d", r.Agree, r.Done)
	if r.Unproved > 0 {
		s += fmt.Sprintf(", %d prove nothing", r.Unproved)
	}
	return s
}

func (r AgreementRow) operations() string {
	if r.Alike == r.Done {
		return "alike"
	}
	return fmt.Sprintf("alike in %d", r.Alike)
}

// sum sums up all rows in a few sentences.
func (a *Agreements) sum() string {
	done, agree, unproved, alike, whole := 0, 0, 0, 0, 0
	for _, r := range a.Rows {
		done, agree, unproved, alike = done+r.Done, agree+r.Agree, unproved+r.Unproved, alike+r.Alike
		if r.Done > 0 && r.agrees() {
			whole++
		}
	}
	s := fmt.Sprintf("In %d of %d runs, real servers agree with simulation in every repetition. Of %d repetitions in all, %d agree", whole, len(a.Rows), done, agree)
	if unproved > 0 {
		s += fmt.Sprintf(", and %d prove nothing", unproved)
	}
	return s + fmt.Sprintf("; in %d, all operations of all clients had the same outcome.", alike)
}

const agreementLegend = "Simulation: the verdict, and the assumptions that were broken. Real servers: how many repetitions were judged the same, property by property, " +
	"assumption by assumption. Operations: whether every acquire, write and release of every client had the same outcome; times are not compared."

// WriteText writes the table for a terminal.
func (a *Agreements) WriteText(w io.Writer, o MatrixOptions) error {
	if o.Paint == nil {
		o.Paint = func(_ reports.Role, s string) string { return s }
	}
	b := bufio.NewWriter(w)
	l := &matrixLayout{columns: cmp.Or(o.Columns, reports.Width), paint: o.Paint}
	name := len("run")
	for _, r := range a.Rows {
		name = max(name, len(r.Scenario)+1+len(r.Run))
	}
	line := func(cells ...string) string {
		return strings.TrimRight(fmt.Sprintf("%-*s  %5s  %-10s  %-26s  %s", name, cells[0], cells[1], cells[2], cells[3], cells[4]), " ")
	}
	fmt.Fprintln(b, o.Paint(Heading, line("run", "speed", "simulation", "real servers", "operations")))
	for _, r := range a.Rows {
		role := reports.Holding
		switch {
		case r.Agree+r.Unproved < r.Done:
			role = reports.Violating
		case r.Unproved > 0 || r.Done == 0:
			role = reports.Doubtful
		}
		fmt.Fprintln(b, o.Paint(role, line(r.Scenario+"/"+r.Run, fmt.Sprint(r.Speed), r.verdict(), r.real(), r.operations())))
	}
	fmt.Fprintln(b)
	l.paragraph(b, a.sum(), "", "  ")
	l.paragraph(b, agreementLegend, "", "  ")
	for _, r := range a.Rows {
		if r.Why == "" {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", o.Paint(Heading, r.Scenario+"/"+r.Run))
		l.paragraph(b, reports.Printable(r.Why, 600), "  ", "  ")
		fmt.Fprintf(b, "  %s\n", o.Paint(reports.Aside, r.Command))
	}
	if len(a.SimOnly) > 0 {
		fmt.Fprintf(b, "\n%s\n", o.Paint(Heading, "in simulation only"))
	}
	for _, s := range a.SimOnly {
		l.paragraph(b, s.Scenario+"/"+s.Run+": "+s.Why, "  ", "    ")
	}
	return b.Flush()
}

// WriteMarkdown writes the table for a page.
func (a *Agreements) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n%s\n\n%s\n\n", reports.MarkdownCode(a.Command), a.sum(), agreementLegend)
	fmt.Fprintf(b, "| run | speed | simulation | real servers | operations |\n|---|---|---|---|---|\n")
	for _, r := range a.Rows {
		real := r.real()
		if !r.agrees() {
			real = "**" + real + "**"
		}
		fmt.Fprintf(b, "| %s | %v | %s | %s | %s |\n", reports.Markdown(r.Scenario+"/"+r.Run), r.Speed, r.verdict(), real, r.operations())
	}
	for _, r := range a.Rows {
		if r.Why != "" {
			fmt.Fprintf(b, "\n- **%s**: %s", reports.Markdown(r.Scenario+"/"+r.Run), reports.Markdown(r.Why))
		}
	}
	fmt.Fprintf(b, "\n\nIn simulation only:\n\n| run | why |\n|---|---|\n")
	for _, s := range a.SimOnly {
		fmt.Fprintf(b, "| %s | %s |\n", reports.Markdown(s.Scenario+"/"+s.Run), reports.Markdown(s.Why))
	}
	return b.Flush()
}
