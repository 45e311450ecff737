package explorer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/sim/history"
)

// A teller turns a history into a story.
type teller struct {
	f       *facts.Facts
	r       checker.Result
	deeds   []reports.Deed
	folds   []reports.Deed // the deeds whose single attempts are not drawn
	servers []string
	shared  map[string]string // the lane of a server that has none of its own
	grants  []int
	proof   []int
	lesser  map[int]bool   // the events that prove only repeated violations of a property
	silent  map[int]string // the requests that wrote the number that the counter already had
	probing bool           // the probe has a part in a violation, and so in the story
	s       *Story
}

func NewStory(f *facts.Facts, r checker.Result) *Story {
	t := newTeller(f, r)
	t.s.End = t.storyEnd()
	t.tell()
	return t.s
}

func newTeller(f *facts.Facts, r checker.Result) *teller {
	t := &teller{f: f, r: r, deeds: reports.Deeds(f), servers: reports.Servers(f.Meta), shared: map[string]string{}, s: &Story{}}
	t.folds = t.deeds
	t.grants = reports.GrantEvents(f.Holds)
	t.silent = silentWrites(f)
	t.lesser = map[int]bool{}
	told := map[checker.Property]bool{}
	for _, v := range r.Violations {
		if v.Property == checker.LeaseExclusion {
			continue // it has a band instead
		}
		i := t.culprit(v)
		if !slices.Contains(t.proof, i) {
			t.lesser[i] = true
		}
		t.lesser[i] = t.lesser[i] && told[v.Property]
		told[v.Property] = true
		t.proof = append(t.proof, i)
	}
	slices.Sort(t.proof)
	for _, i := range t.proof {
		t.probing = t.probing || t.valid(i) && f.Events[i].Process == f.Meta.Probe
	}
	return t
}

// tell adds everything up to the end of the story.
func (t *teller) tell() {
	t.addLanes()
	t.tellFaults()
	t.tellClients()
	t.tellNodes()
	t.tellResource()
	t.tellFlights()
	t.tellViolations()
	t.dropIdle()
}

func (t *teller) valid(event int) bool { return event >= 0 && event < len(t.f.Events) }

func (t *teller) proves(event int) bool {
	_, found := slices.BinarySearch(t.proof, event)
	return found
}

// storyEnd is the end of the picture: the last act of a client, or its last effect. Healing and the probe follow in a run, and are shown
// only if they prove something.
func (t *teller) storyEnd() time.Duration {
	var end time.Duration
	for i := range t.f.Events {
		e := &t.f.Events[i]
		client := e.Kind == history.Invoke || e.Kind == history.OK || e.Kind == history.Fail || e.Kind == history.Info && e.Op != history.Exit && e.Op != history.Unpaused
		resource := atResource(e)
		if t.proves(i) || t.probing || (client && e.Process != t.f.Meta.Probe || resource && e.By != t.f.Meta.Probe) {
			end = max(end, e.At)
		}
	}
	for _, v := range t.r.Violations {
		end = max(end, v.At)
	}
	return end
}

// silentWrites returns the requests of acknowledged increments that changed nothing, because the counter already had the number that
// they wrote. The map has this number.
func silentWrites(f *facts.Facts) map[int]string {
	silent := map[int]string{}
	for _, d := range reports.RawDeeds(f) {
		if d.Op != history.Increment || d.Outcome != history.OK {
			continue
		}
		number, request := f.Events[d.Out].Value, -1
		for i := d.In; i < d.Out; i++ {
			e := &f.Events[i]
			if e.By != d.Process || e.Process != history.ResourceName {
				continue
			}
			if e.Kind == history.State && e.Lease == "" && e.Value == number {
				request = -1
				break
			}
			if e.Kind == history.Message && e.Op == history.Deliver && strings.Contains(e.Value+";", "SET counter "+number+";") {
				request = i
			}
		}
		if request >= 0 && !(request+1 < len(f.Events) && atResource(&f.Events[request+1]) && f.Events[request+1].At == f.Events[request].At) {
			silent[request] = number
		}
	}
	return silent
}

func (t *teller) tellResource() {
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if number, found := t.silent[i]; found && (!t.fruitless(i) || t.proves(i)) {
			t.mark(e.Process, mark{At: e.At, Shape: Accepted, Client: e.By, Weight: Telling, event: i, Text: number + " again, from " + e.By})
		}
		if !atResource(e) || t.fruitless(i) {
			continue
		}
		m := mark{At: e.At, Shape: Accepted, Client: e.By, Weight: Telling, event: i, Text: strings.TrimSpace(e.Value + " from " + e.By)}
		switch e.Op {
		case history.Reject:
			m.Shape = Rejected
			m.Text += " rejected"
		case history.Keep:
			m.Text += " kept beside the others"
		case history.Mark:
			m.Shape, m.Text = Bare, "mark is "+e.Lease
		}
		if e.Fence != 0 {
			m.Text += fmt.Sprintf(": fence %d", e.Fence)
			if seen := reports.FenceSeen(t.f.History, i); e.Op == history.Reject && seen > 0 {
				m.Text += fmt.Sprintf(" < %d", seen)
			}
		}
		t.mark(e.Process, m)
	}
}

// bar adds a bar, cut off where the picture ends.
func (t *teller) bar(process string, b Bar) {
	l := t.lane(process)
	if l == nil || b.From > t.s.End {
		return
	}
	b.To = min(b.To, t.s.End)
	l.Rows = max(l.Rows, b.Row+1)
	l.Bars = append(l.Bars, b)
}

// mark adds a mark, if it lies within the picture.
func (t *teller) mark(process string, m mark) {
	l := t.lane(process)
	if l == nil || m.At > t.s.End {
		return
	}
	m.Proof = m.Proof || t.proves(m.event)
	m.Lesser = m.Proof && t.lesser[m.event]
	if m.Proof {
		m.Weight = Decisive
	}
	l.Marks = append(l.Marks, m)
}
