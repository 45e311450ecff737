package scenarios

import (
	"fmt"
	"strings"

	"lockstep/checker"
	"lockstep/sim"
)

// String prints the scenario as its file. [Parse] is the inverse; a file in this form, which is how the catalogue is kept,
// comes back byte for byte. A scenario that was put together in Go is checked by parsing what it prints.
func (s *Scenario) String() string {
	var b strings.Builder
	b.WriteString("# " + s.Title + "\n")
	if s.Prose != "" {
		b.WriteString("#\n")
		for line := range strings.SplitSeq(s.Prose, "\n") {
			if line != "" {
				line = " " + line
			}
			b.WriteString("#" + line + "\n")
		}
	}
	b.WriteString("\n")
	if s.TTL != 0 {
		b.WriteString("ttl " + sim.FormatDuration(s.TTL) + "\n")
	}
	printLanes(&b, s.Lanes)
	printMusts(&b, s.Musts)
	if s.TTL != 0 || len(s.Lanes)+len(s.Musts) > 0 {
		b.WriteString("\n")
	}
	for _, r := range s.Runs {
		b.WriteString(r.String())
	}
	return b.String()
}

// String prints the run as its section of the file.
func (r Run) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s nodes=%d", r.Lock, r.Nodes)
	if r.Resource != "" {
		b.WriteString(" resource=" + r.Resource)
	}
	if r.Label != "" {
		b.WriteString(" label=" + r.Label)
	}
	if r.TTL != 0 {
		b.WriteString(" ttl=" + sim.FormatDuration(r.TTL))
	}
	b.WriteString(" --\n")
	printLanes(&b, r.Lanes)
	printMusts(&b, r.Musts)
	for _, e := range r.Expect {
		b.WriteString(e.String() + "\n")
	}
	b.WriteString(r.Golden)
	return b.String()
}

// String prints the lane: a line that says whose it is, and one indented line for each step.
func (l Lane) String() string {
	var b strings.Builder
	if l.Process == Nemesis {
		b.WriteString("nemesis\n")
	} else {
		b.WriteString("client " + l.Process + "\n")
	}
	for _, step := range l.Steps {
		b.WriteString("  " + step.String() + "\n")
	}
	return b.String()
}

func (e Expectation) String() string {
	s := "expect " + string(e.Property) + " " + string(e.Status)
	if e.Assumption != "" {
		s += ": " + string(e.Assumption)
	}
	return s
}

func printLanes(b *strings.Builder, lanes []Lane) {
	for _, l := range lanes {
		b.WriteString(l.String())
	}
}

func printMusts(b *strings.Builder, musts []checker.Must) {
	for _, m := range musts {
		b.WriteString("must " + m.String() + "\n")
	}
}
