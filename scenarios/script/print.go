package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/sim/history"
)

// String prints the scenario as a file. [Parse] is the inverse. A file in this form, which all files of the catalogue have, is
// reproduced byte for byte. A scenario that was made in Go is checked by parsing what it prints.
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
		b.WriteString("ttl " + history.FormatDuration(s.TTL) + "\n")
	}
	if s.Speed != 0 {
		b.WriteString("speed " + strconv.Itoa(s.Speed) + "\n")
	}
	if len(s.Sweep) > 0 {
		b.WriteString("sweep " + strings.Join(WordsOf(s.Sweep), " ") + "\n")
	}
	PrintLanes(&b, s.Lanes)
	printMusts(&b, s.Musts)
	printReports(&b, s.Reports)
	printSimOnly(&b, s.SimOnly)
	if s.TTL != 0 || s.Speed != 0 || s.SimOnly != "" || len(s.Sweep)+len(s.Lanes)+len(s.Musts)+len(s.Reports) > 0 {
		b.WriteString("\n")
	}
	for _, r := range s.Runs {
		b.WriteString(r.String())
	}
	return b.String()
}

// String prints the run as its section of the file.
func (r Section) String() string {
	var b strings.Builder
	b.WriteString("-- " + r.Lock)
	for _, key := range settings {
		if value := r.Setting(key); value != "" {
			b.WriteString(" " + key + "=" + value)
		}
	}
	b.WriteString(" --\n")
	PrintLanes(&b, r.Lanes)
	printMusts(&b, r.Musts)
	printReports(&b, r.Reports)
	printSimOnly(&b, r.SimOnly)
	for _, e := range r.Expect {
		b.WriteString(e.String() + "\n")
	}
	b.WriteString(r.Golden)
	return b.String()
}

// Setting prints the value of a setting of the section line; empty if the run does not have it.
func (r Section) Setting(key string) string {
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return history.FormatDuration(d)
	}
	switch key {
	case "nodes":
		return count(r.Nodes)
	case "replicas":
		return count(r.Replicas)
	case "sentinels":
		return count(r.Sentinels)
	case "shards":
		return count(r.Shards)
	case "down-after":
		return span(r.DownAfter)
	case "min-replicas":
		return count(r.MinReplicas)
	case "persistence":
		return r.Persistence
	case "pool":
		return r.Pool
	case "guests":
		if !r.Guests {
			return ""
		}
		return yes
	case "resource":
		return r.Resource
	case "label":
		return r.Label
	case "ttl":
		return span(r.TTL)
	case "speed":
		return count(r.Speed)
	case "seed":
		if r.Seed == 0 {
			return ""
		}
		return strconv.FormatUint(r.Seed, 10)
	case "checksum":
		return r.Checksum
	}
	panic("scenarios: no such setting: " + key)
}

// String prints the lane: a line with its process, and one indented line for each step.
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
	if e.Share > 0 {
		s += fmt.Sprintf(" for %d of %d seeds", e.Share, ShareSeeds)
	}
	if e.Assumption != "" {
		s += ": " + string(e.Assumption)
	}
	return s
}

// PrintLanes prints lanes one after the other, as in a page.
func PrintLanes(b *strings.Builder, lanes []Lane) {
	for _, l := range lanes {
		b.WriteString(l.String())
	}
}

func printMusts(b *strings.Builder, musts []checker.Must) {
	for _, m := range musts {
		b.WriteString("must " + m.String() + "\n")
	}
}

func printSimOnly(b *strings.Builder, why string) {
	if why != "" {
		b.WriteString("sim only: " + why + "\n")
	}
}

func printReports(b *strings.Builder, reports []checker.Quantity) {
	for _, q := range reports {
		b.WriteString("report " + string(q) + "\n")
	}
}

// LanesText prints the lanes of the clients and the nemesis, as in a page.
func (s *Scenario) LanesText() string {
	var b strings.Builder
	for _, lane := range s.Resolve(s.Runs[0]).Lanes {
		fmt.Fprintf(&b, "%s\n", lane)
	}
	return strings.TrimRight(b.String(), "\n")
}
