package reports

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/sim"
)

// ranges names some nodes in the order in which all are numbered, neighbours together: n1..n3,n5.
func ranges(nodes, all []string) string {
	var parts []string
	for i := 0; i < len(all); i++ {
		if !slices.Contains(nodes, all[i]) {
			continue
		}
		j := i
		for j+1 < len(all) && slices.Contains(nodes, all[j+1]) {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, all[i])
		case j == i+1:
			parts = append(parts, all[i], all[j])
		default:
			parts = append(parts, all[i]+".."+all[j])
		}
		i = j
	}
	return strings.Join(parts, ",")
}

// actor names who an event happened to. A fault on links happens to the network; its printed form names the links.
func actor(e *sim.Event) string {
	if e.Process == "" || strings.Contains(e.Process, "-") {
		return "network"
	}
	return e.Process
}

// operation is an operation in the words of a scenario file.
func operation(e *sim.Event) string {
	if e.Op == sim.Write && e.Value != "" {
		return e.Op + " " + e.Value
	}
	return e.Op
}

// outcome is what an operation's event says beyond its name.
func outcome(e *sim.Event) string {
	var parts []string
	if e.Lease != "" && e.Kind != sim.Fail {
		parts = append(parts, e.Lease)
	}
	if e.Op == sim.Acquire && e.Kind == sim.OK {
		parts = append(parts, validity(e))
	}
	if e.Fence != 0 {
		parts = append(parts, fmt.Sprintf("fence %d", e.Fence))
	}
	if e.Op != sim.Write && e.Value != "" {
		parts = append(parts, e.Value)
	}
	if e.Error != "" {
		parts = append(parts, firstLine(e.Error))
	}
	return strings.Join(parts, ", ")
}

// validity says until when the holder may rely on its lease, and by which clock where that differs from true time.
func validity(e *sim.Event) string {
	if e.Until == sim.NoEnd {
		return "no end"
	}
	s := "valid until " + seconds(e.Until)
	if e.Clock != e.At {
		s += " by its clock"
	}
	return s
}

// change says what a State event changed, in two parts: the key or value, and whose it is.
func (t *transcript) change(i int) (what, detail string) {
	e := &t.h.Events[i]
	what = e.Key
	if what == "" {
		what = e.Lock
	}
	switch e.Op {
	case sim.Set, sim.Over:
		switch {
		case e.Lease == "":
			detail = e.Value
		case e.Owner == "":
			detail = "for " + e.Lease + keyEnd(e)
		default:
			detail = "for " + e.Lease + keyEnd(e) + ", was of " + e.Owner
		}
	case sim.Retime:
		detail = "of " + e.Owner + keyEnd(e)
	case sim.Delete:
		detail = "of " + e.Owner
	case sim.Expire, sim.Lose:
		return what, "of " + e.Owner
	case sim.Accept, sim.Reject:
		return e.Value, t.writing(i)
	}
	if e.By != holderOf(e.Owner) && e.Owner != "" {
		detail += ", by " + e.By
	}
	return what, detail
}

// writing says of a write whose it is, and what speaks against it.
func (t *transcript) writing(i int) string {
	e := &t.h.Events[i]
	s := "of " + e.Lease
	if e.Lease == "" {
		s = "of " + e.By
	}
	if e.Fence != 0 {
		s += fmt.Sprintf(", fence %d", e.Fence)
	}
	if seen := fenceSeen(t.h, i); e.Op == sim.Reject && e.Fence != 0 && seen > 0 {
		s += fmt.Sprintf(" < %d", seen)
	}
	if e.Sent > 0 && e.At-e.Sent >= tellingDelay {
		s += ", sent at " + seconds(e.Sent)
	}
	return s
}

// keyEnd says when a key ends where that is not simply a TTL from now, because the clock of its node is wrong.
func keyEnd(e *sim.Event) string {
	switch {
	case e.Until == sim.NoEnd:
		return ", no end"
	case e.Until != 0 && e.Wall != 0:
		return " until " + seconds(e.Until) + " by its clock"
	}
	return ""
}
