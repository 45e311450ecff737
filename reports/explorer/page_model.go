package explorer

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/reports"
	"lockstep/sim/history"
)

// pageData is the JSON for the script of a page. Times are in nanoseconds. Texts that readers without the script need are in the page
// itself; the script gets only what it adds something to.
type pageData struct {
	Runs []*pageModel `json:"runs"`
}

// A pageModel is one run in the words and shapes in which a page shows it. It is the story of the pictures, but has all events, and each
// part of it knows the events that it stands for. Repeated refusals of a client are drawn once, and the attempts in between are details.
type pageModel struct {
	Name    string    `json:"name"`
	Verdict string    `json:"verdict"`
	Outcome string    `json:"-"`
	Reason  string    `json:"reason"`
	Letter  string    `json:"-"` // names one of several runs
	Facts   []string  `json:"-"` // nodes, TTL, seed
	Title   string    `json:"-"`
	Prose   pageProse `json:"-"`
	Script  string    `json:"-"`
	// Picture, or else Text, is for readers without the script, and for paper.
	Picture template.HTML `json:"-"`
	Text    string        `json:"-"`

	End      time.Duration `json:"end"`
	StoryEnd time.Duration `json:"storyEnd"` // the end of the story; only healing and the probe follow

	Lanes    []pageLane    `json:"lanes"`
	Flights  []pageFlight  `json:"flights"`
	Bands    []pageBand    `json:"bands"`
	Callouts []pageCallout `json:"callouts"`
	Clocks   []Clock       `json:"clocks"` // of the processes whose clocks are ever wrong
	Right    []string      `json:"right"`  // the processes whose clocks are right
	Events   []pageEvent   `json:"events"`

	Properties   []pageProperty `json:"-"`
	Unmet        []string       `json:"-"`
	Measurements []string       `json:"-"`
	Violations   []pageJump     `json:"violations"`
	Stories      []pageStory    `json:"stories"`
}

type pageLane struct {
	Name  string      `json:"name"`
	Kind  string      `json:"kind"`
	Look  int         `json:"look"` // the number of the client, which decides its colour and pattern; -1 for other processes
	Probe bool        `json:"probe,omitempty"`
	Rows  int         `json:"rows"`
	Bars  []pageBar   `json:"bars"`
	Still []pageStill `json:"still"` // when the process stood still
	Marks []pageMark  `json:"marks"`
}

type pageBar struct {
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
	Style string        `json:"style"`
	Look  int           `json:"look"`
	Text  string        `json:"text,omitempty"`
	Short string        `json:"short,omitempty"`
	Row   int           `json:"row,omitempty"`
	// Ends are the ends that a lease or a key was given: when it was given, and the end by the clock that decides. That is the steady
	// clock of a client, and the wall clock of a node.
	Ends []pageEnd `json:"ends,omitempty"`
}

type pageEnd struct {
	At    time.Duration `json:"at"`
	Until time.Duration `json:"until"` // history.NoEnd if there is none
}

type pageStill struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	Text string        `json:"text"`
}

type pageMark struct {
	At     time.Duration `json:"at"`
	Shape  string        `json:"shape"`
	Look   int           `json:"look"`
	Text   string        `json:"text,omitempty"`
	Row    int           `json:"row,omitempty"`
	Weight int           `json:"weight"`
	Event  int           `json:"event"`
	Proof  bool          `json:"proof,omitempty"`
}

// A pageFlight is a message on its way between two lanes.
type pageFlight struct {
	From  int           `json:"from"`
	To    int           `json:"to"`
	Sent  time.Duration `json:"sent"`
	At    time.Duration `json:"at"`
	Fate  string        `json:"fate"` // deliver, late, drop
	Look  int           `json:"look"`
	Write bool          `json:"write,omitempty"` // it is a write to the resource
	Quiet bool          `json:"quiet,omitempty"` // not drawn: servers talk all the time, and a client may be refused again and again
	Proof bool          `json:"proof,omitempty"`
	Event int           `json:"event"`
}

type pageBand struct {
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
	Lanes []int         `json:"lanes"`
}

type pageCallout struct {
	Lane int           `json:"lane"`
	At   time.Duration `json:"at"`
	Text string        `json:"text"`
}

// A pageEvent is an event of the history, with its line in a timeline.
type pageEvent struct {
	history.Event
	Who    string `json:"who"`
	Verb   string `json:"verb"` // the third column of a timeline
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
	Level  int    `json:"level,omitempty"` // 0: in every timeline; 1: a detail; 2: a message
	Proof  bool   `json:"proof,omitempty"`
}

type pageProperty struct {
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Broken []string `json:"broken"` // the violations, each in a sentence
}

// A pageJump is the event that a violation is shown at.
type pageJump struct {
	Property string `json:"property"`
	Event    int    `json:"event"`
}

// A pageStory explains a violation.
type pageStory struct {
	Property  string         `json:"property"`
	Sentences []pageSentence `json:"sentences"`
}

// Limits of external text, in characters. A name shares its line with others; a value may be read in full.
const (
	nameMost  = 48
	lineMost  = 400
	valueMost = 20000
)

func newPageModel(r Run) *pageModel {
	f := r.Facts
	head := NewHeading(f, r.Result)
	m := &pageModel{
		Name: head.Run, Verdict: string(head.Verdict), Outcome: strings.TrimPrefix(strings.TrimPrefix(head.Outcome, string(head.Verdict)), ": "),
		Reason: head.Reason, Facts: setting(f.Meta), Title: reports.Printable(named(r.Title), lineMost), Prose: foldProse(r.Prose), Script: lines(r.Script),
		Picture: r.Picture,
		Bands:   []pageBand{}, Callouts: []pageCallout{}, Flights: []pageFlight{}, Violations: []pageJump{}, Stories: []pageStory{},
	}
	if m.Picture == "" {
		var text strings.Builder
		reports.Text(&text, f, r.Result, reports.TextOptions{Measurements: r.Measurements}) // writing to a strings.Builder cannot fail
		m.Text = lines(text.String())
	}
	t := newTeller(f, r.Result)
	m.StoryEnd = t.storyEnd()
	t.deeds, t.folds = reports.JoinRefusals(reports.RawDeeds(f)), nil
	t.probing = f.Meta.Probe != ""
	for i := range f.Events {
		t.s.End = max(t.s.End, f.Events[i].At)
	}
	t.tell()
	m.End = t.s.End

	b := pageBuilder{m, t, CastOf(f.History)}
	b.lanes()
	b.flights()
	b.events()
	b.violations()
	b.clocks()
	b.verdict(r)
	return m
}

// Class is the name of the verdict in the style sheet.
func (m *pageModel) Class() string { return strings.ToLower(m.Verdict) }

// A pageBuilder converts the story of a teller for a page.
type pageBuilder struct {
	*pageModel
	t    *teller
	cast []string // see castOf
}

// look is the number of a client, or -1.
func (b *pageBuilder) look(client string) int { return slices.Index(b.cast, client) }

// lane is the number of the lane of a process, or -1.
func (b *pageBuilder) lane(process string) int {
	name := cmp.Or(b.t.shared[process], process)
	return slices.IndexFunc(b.t.s.Lanes, func(l Lane) bool { return l.Name == name })
}

var (
	laneKinds = map[LaneKind]string{ClientLane: "client", NetworkLane: "network", NodeLane: "node", OtherLane: "other", ResourceLane: "resource"}
	barStyles = map[BarStyle]string{Holding: "holding", Stale: "stale", Asking: "asking", Writing: "writing", Living: "living", Copied: "copied", Severed: "severed"}
	shapes    = map[Shape]string{Bare: "bare", Act: "act", Granted: "granted", Lost: "lost", Leapt: "leapt", Accepted: "accepted",
		Rejected: "rejected", Ticked: "ticked", Crowned: "crowned"}
)

func (b *pageBuilder) lanes() {
	for _, l := range b.t.s.Lanes {
		p := pageLane{Name: reports.Printable(l.Name, nameMost), Kind: laneKinds[l.Kind], Look: -1, Rows: l.Rows, Probe: l.Name == b.t.f.Meta.Probe,
			Bars: []pageBar{}, Still: []pageStill{}, Marks: []pageMark{}}
		if l.Kind == ClientLane {
			p.Look = b.look(l.Name)
		}
		for _, s := range l.Shades {
			p.Still = append(p.Still, pageStill{s.From, s.To, reports.Printable(s.Text, nameMost)})
		}
		for _, bar := range l.Bars {
			p.Bars = append(p.Bars, pageBar{
				From: bar.From, To: bar.To, Style: barStyles[bar.Style], Look: b.look(bar.Client), Row: bar.Row,
				Text: reports.Printable(bar.Text, lineMost), Short: reports.Printable(bar.Short, nameMost), Ends: b.t.ends(bar),
			})
		}
		for _, mk := range l.Marks {
			p.Marks = append(p.Marks, pageMark{mk.At, shapes[mk.Shape], b.look(mk.Client), reports.Printable(mk.Text, lineMost), mk.Row, mk.Weight, mk.event, mk.Proof})
		}
		b.Lanes = append(b.Lanes, p)
	}
	for _, band := range b.t.s.Bands {
		var lanes []int
		for _, c := range band.Clients {
			lanes = append(lanes, b.lane(c))
		}
		b.Bands = append(b.Bands, pageBand{band.From, band.To, lanes})
	}
	for _, c := range b.t.s.Callouts {
		if n := b.lane(c.Lane); n >= 0 {
			b.Callouts = append(b.Callouts, pageCallout{n, c.At, reports.Printable(c.Text, lineMost)})
		}
	}
}

// ends returns the ends that were given to the lease or the key of a bar.
func (t *teller) ends(b Bar) (ends []pageEnd) {
	add := func(i int) {
		if e := &t.f.Events[i]; e.At <= b.To {
			ends = append(ends, pageEnd{e.At, e.Until})
		}
	}
	if l := b.hold; l != nil {
		add(l.ReturnEvent)
		for _, i := range t.f.Extensions[l.Label] {
			if i > l.ReturnEvent && t.f.Events[i].Process == l.Client {
				add(i)
			}
		}
	}
	if k := b.life; k != nil {
		add(k.From)
		for i := k.From + 1; i < k.To; i++ {
			if e := &t.f.Events[i]; e.Process == k.Node && e.Kind == history.State && e.Op == history.Retime && e.Key == k.Key && e.At > t.f.At(k.From) {
				add(i)
			}
		}
	}
	return ends
}

// flights follows every message from its sender to its receiver. A message that changed something has several events: itself and the
// changes. The flight leads to the last of them, which says most.
func (b *pageBuilder) flights() {
	type way struct {
		from, to string
		sent, at time.Duration
		word     string
	}
	known, waiting := map[way]int{}, b.waiting()
	for i := range b.t.f.Events {
		e := &b.t.f.Events[i]
		from, to := b.lane(e.By), b.lane(e.Process)
		if e.By == "" || e.By == e.Process || from < 0 || to < 0 || e.Sent == 0 && e.Kind != history.Message || e.Kind != history.Message && e.Kind != history.State {
			continue
		}
		f := pageFlight{From: from, To: to, Sent: e.Sent, At: e.At, Fate: history.Deliver, Look: b.look(e.By), Event: i, Proof: b.t.proves(i)}
		f.Quiet = slices.Contains(b.t.servers, e.By) && slices.Contains(b.t.servers, e.Process) || waiting[i]
		if f.Look < 0 {
			f.Look = b.look(e.Process)
		}
		w := way{e.By, e.Process, e.Sent, e.At, ""}
		if e.Kind == history.Message {
			f.Fate = e.Op
			known[w] = len(b.Flights)
		} else if n, found := known[w]; found {
			g := &b.Flights[n]
			g.Write, g.Proof, g.Event, g.Quiet = g.Write || atResource(e), g.Proof || f.Proof, i, f.Quiet
			continue
		}
		f.Write = atResource(e) || b.t.silent[i] != ""
		b.Flights = append(b.Flights, f)
	}
}

// askedMost is how many messages of one acquire are drawn.
const askedMost = 60

// waiting returns the messages of clients that ask again and again, in attempts that are drawn as one or within one attempt.
func (b *pageBuilder) waiting() map[int]bool {
	all := map[int]bool{}
	for _, d := range b.t.deeds {
		end := d.Next
		if !d.Refused() && d.Out >= 0 {
			end = d.Out
		}
		var asked []int
		for i := d.In; i < end && d.Op == history.Acquire; i++ {
			if e := &b.t.f.Events[i]; e.Kind == history.Message && (e.By == d.Process || e.Process == d.Process) {
				asked = append(asked, i)
			}
		}
		for _, i := range asked {
			all[i] = d.Folded() || len(asked) > askedMost
		}
	}
	return all
}

// refused returns the refusals drawn as one that an event belongs to, or nil.
func (b *pageBuilder) refused(i int) *reports.Deed {
	n := slices.IndexFunc(b.t.deeds, func(d reports.Deed) bool { return d.Covers(i, &b.t.f.Events[i]) })
	if n < 0 {
		return nil
	}
	return &b.t.deeds[n]
}

// events gives each event the line that a timeline has for it. No events share a line here.
func (b *pageBuilder) events() {
	t := reports.NewTranscript(b.t.f, b.t.r, reports.TextOptions{Verbose: true, Messages: true})
	for i := range t.F.Events {
		e := t.F.Events[i]
		t.Lines = nil
		t.Event(i)
		l := t.Lines[0]
		p := pageEvent{Event: legible(e), Who: reports.Printable(l.Who, nameMost), Verb: reports.Printable(l.Kind, nameMost), What: reports.Printable(l.Op, lineMost),
			Detail: reports.Printable(l.Detail, lineMost), Proof: l.Proof}
		switch {
		case e.Kind == history.Message:
			p.Level = 2
		case e.Kind == history.Bite, e.Op == history.Wait, e.Op == history.Exit, e.Op == history.Unpaused:
			p.Level = 1
		case e.Op == history.Acquire && e.Kind != history.State:
			if d := b.refused(i); d == nil || i == d.In {
			} else if i == d.Out {
				p.What, p.Detail = fmt.Sprintf("%s ×%d", reports.Operation(&e), d.Times), reports.Printable(d.Summary(), lineMost)
			} else {
				p.Level = 1
			}
		}
		if l.Grant != "" {
			p.Detail += ", the grant"
		}
		b.Events = append(b.Events, p)
	}
}

// legible returns an event whose strings are safe to show.
func legible(e history.Event) history.Event {
	for _, s := range []*string{&e.Process, &e.Op, &e.Lock, &e.Lease, &e.Key, &e.By, &e.Owner, &e.Word} {
		*s = reports.Printable(*s, lineMost)
	}
	e.Value, e.Error = reports.Printable(e.Value, valueMost), reports.Printable(e.Error, valueMost)
	return e
}

func (b *pageBuilder) violations() {
	for _, v := range b.t.r.Violations {
		if i := b.t.culprit(v); b.t.valid(i) {
			b.Violations = append(b.Violations, pageJump{string(v.Property), b.complete(v, i)})
		}
	}
	for _, p := range checker.Properties() {
		n := slices.IndexFunc(b.t.r.Violations, func(v checker.Violation) bool { return v.Property == p })
		if n < 0 {
			continue
		}
		s := pageStory{Property: string(p), Sentences: []pageSentence{}}
		for _, told := range explain.Story(b.t.f, b.t.r.Violations[n]) {
			told.Events = slices.DeleteFunc(slices.Clone(told.Events), func(i int) bool { return !b.t.valid(i) })
			s.Sentences = append(s.Sentences, tellable(b.t.f.History, told))
		}
		b.Stories = append(b.Stories, s)
	}
}

// complete returns the event among the proof at the instant of the violation, or else i.
func (b *pageBuilder) complete(v checker.Violation, i int) int {
	if n := slices.IndexFunc(v.Events, func(j int) bool { return b.t.valid(j) && b.t.f.Events[j].At == v.At }); n >= 0 {
		return v.Events[n]
	}
	return i
}

func (b *pageBuilder) verdict(r Run) {
	for _, p := range checker.Properties() {
		s := pageProperty{Name: string(p), Status: string(r.Result.Status(p))}
		for _, v := range r.Result.Violations {
			if v.Property == p && len(s.Broken) < reports.ViolationsShown {
				s.Broken = append(s.Broken, reports.Printable(v.What, lineMost)+" ("+reports.Broken(v.Assumption)+")")
			}
		}
		b.Properties = append(b.Properties, s)
	}
	for i, u := range r.Result.Unmet {
		if i == reports.ReasonsShown {
			b.Unmet = append(b.Unmet, fmt.Sprintf("and %d more reasons", len(r.Result.Unmet)-i))
			break
		}
		b.Unmet = append(b.Unmet, reports.Printable(u, lineMost))
	}
	if note := reports.OrderNote(r.Facts.Meta); note != "" {
		b.Measurements = append(b.Measurements, note)
	}
	for _, m := range r.Measurements {
		b.Measurements = append(b.Measurements, string(m.Quantity)+": "+reports.Printable(m.Text, lineMost))
	}
}

// setting describes the setting of the run in a few words.
func setting(m history.Meta) []string {
	all := []string{reports.Count(len(m.Nodes), "node")}
	if n := len(m.Replicas); n > 0 {
		all = append(all, reports.Count(n, "replica"))
	}
	all = append(all, reports.Count(len(m.Clients), "client"))
	if m.TTL > 0 {
		all = append(all, "TTL "+history.FormatDuration(m.TTL))
	}
	if m.Resource != "" {
		all = append(all, reports.Printable(m.Resource, nameMost)+" resource")
	}
	on := "simulated"
	if m.On != "sim" && m.On != "" {
		on = "on " + reports.Printable(m.On, nameMost)
	}
	return append(all, on, fmt.Sprintf("seed %d", m.Seed))
}

// paragraphs splits prose at empty lines.
func paragraphs(s string) []string {
	var all []string
	for _, p := range strings.Split(s, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			all = append(all, reports.Printable(p, valueMost))
		}
	}
	return all
}

// lines makes each line of s safe to show.
func lines(s string) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range all {
		all[i] = reports.Printable(strings.ReplaceAll(all[i], "\t", "  "), valueMost)
	}
	return strings.Join(all, "\n")
}
