package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep/sim/history"
)

// Servers lists all servers: each lock node with its replicas after it, then the others.
func Servers(m history.Meta) []string {
	replicas := slices.Sorted(maps.Keys(m.Replicas))
	var all []string
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, n := range m.Nodes {
		add(n)
		for _, r := range replicas {
			if m.Replicas[r] == n {
				add(r)
			}
		}
	}
	for _, name := range slices.Concat(replicas, m.Others) {
		add(name)
	}
	return all
}

// Ranges lists some nodes in the order of all. Neighbours of one kind form a range: n1..n3,n5.
func Ranges(nodes, all []string) string {
	var parts []string
	for i := 0; i < len(all); i++ {
		if !slices.Contains(nodes, all[i]) {
			continue
		}
		j := i
		for j+1 < len(all) && slices.Contains(nodes, all[j+1]) && strings.TrimRight(all[j+1], digits) == strings.TrimRight(all[i], digits) {
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

const digits = "0123456789"

// Together names some processes: nodes as ranges, others one by one.
func Together(names, nodes []string) string {
	for _, n := range names {
		if !slices.Contains(nodes, n) {
			return strings.Join(names, " ")
		}
	}
	return Ranges(names, nodes)
}

// actor returns the process to which an event happened. A fault of links happens to the network; its printed form names the
// links.
func actor(e *history.Event) string {
	if e.Process == "" || strings.Contains(e.Process, "-") {
		return "network"
	}
	return e.Process
}

// Operation describes an operation in the words of a scenario file.
func Operation(e *history.Event) string {
	if (e.Op == history.Write || e.Op == history.Update) && e.Value != "" {
		return e.Op + " " + e.Value
	}
	if e.TTL > 0 && e.Op == history.Acquire {
		return e.Op + " for " + history.FormatDuration(e.TTL)
	}
	if e.TTL > 0 {
		return e.Op + " " + history.FormatDuration(e.TTL)
	}
	return e.Op
}

// outcome describes what the event of an operation says besides its name.
func outcome(e *history.Event) string {
	var parts []string
	if e.Lease != "" && e.Kind != history.Fail {
		parts = append(parts, e.Lease)
	}
	if e.Op == history.Acquire && e.Kind == history.OK || e.Op == history.Renew ||
		e.Op == history.Extend && (e.Kind == history.OK || e.EndsOperation() && e.Until > e.Clock) {
		parts = append(parts, validity(e))
	}
	if e.Fence != 0 {
		parts = append(parts, fmt.Sprintf("fence %d", e.Fence))
	}
	if e.Op != history.Write && e.Op != history.Update && e.Value != "" {
		parts = append(parts, e.Value)
	}
	if e.Error != "" {
		parts = append(parts, FirstLine(e.Error))
	}
	return strings.Join(parts, ", ")
}

// validity says until when the holder may rely on its lease, and by which clock if that differs from true time.
func validity(e *history.Event) string {
	if e.Until == history.NoEnd {
		return "no end"
	}
	s := "valid until " + history.Seconds(e.Until)
	if e.Clock != e.At {
		s += " by its clock"
	}
	return s
}

// change describes a State event in two parts: the key or value, and its owner.
func (t *transcript) change(i int) (what, detail string) {
	e := &t.F.Events[i]
	what = history.ShortName(cmp.Or(e.Key, e.Lock))
	switch e.Op {
	case history.Set, history.Over:
		switch {
		case e.Lease == "" && e.Process == history.ResourceName && e.By != "":
			return what, e.Value + ", by " + e.By
		case e.Lease == "":
			detail = e.Value
		case e.Owner == "":
			detail = "for " + e.Lease + keyEnd(e)
		default:
			detail = "for " + e.Lease + keyEnd(e) + ", previously of " + e.Owner
		}
	case history.Retime, history.Delete, history.Expire, history.Lose:
		if e.Owner != "" {
			detail = "of " + e.Owner
		}
		if e.Op == history.Retime {
			detail = strings.TrimLeft(detail+keyEnd(e), ", ")
		}
	case history.Accept, history.Reject, history.Keep:
		return e.Value, t.writing(i)
	case history.Mark:
		return e.Lease, "is the mark from now on"
	case history.Promoted:
		return "", "is a primary from now on"
	case history.Followed:
		return e.Value, "is its primary from now on"
	case history.Sdown:
		return e.Value, "does not answer"
	case history.Odown:
		return e.Value, "is down, by a quorum"
	case history.Leader:
		return e.Value, "leads its failover"
	case history.Refuse:
		return e.Value, "from " + e.By + ": Lockstep refuses it"
	}
	switch {
	case slices.Contains(t.all, e.By):
		detail = strings.TrimPrefix(detail+", from "+e.By, ", ")
	case e.By != "" && e.By != history.Client(e.Owner) && e.Owner != "":
		detail += ", by " + e.By
	}
	return what, detail
}

// writing says under which lease a write was made, and what is wrong with it.
func (t *transcript) writing(i int) string {
	e := &t.F.Events[i]
	s := "of " + e.Lease
	if e.Lease == "" {
		s = "of " + e.By
	}
	if e.Word != "" {
		s += ", adds " + e.Word
	}
	if e.Fence != 0 {
		s += fmt.Sprintf(", fence %d", e.Fence)
	}
	if e.Op == history.Reject && e.Fence == 0 && e.Error != "" {
		s += ": " + FirstLine(e.Error)
	}
	if seen := FenceSeen(t.F.History, i); e.Op == history.Reject && e.Fence != 0 && seen > 0 {
		s += fmt.Sprintf(" < %d", seen)
	}
	if e.Sent > 0 && e.At-e.Sent >= TellingDelay {
		s += ", sent at " + history.Seconds(e.Sent)
	}
	return s
}

// keyEnd says when a key ends if that is not one TTL from now, because the clock of its node is wrong.
func keyEnd(e *history.Event) string {
	switch {
	case e.Until == history.NoEnd:
		return ", no end"
	case e.Until != 0 && e.Wall != 0:
		return " until " + history.Seconds(e.Until) + " by its clock"
	}
	return ""
}

// Count says how many there are of something: 1 run, 2 runs.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
