package explorer

import (
	"cmp"
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

// dropIdle drops the lanes of the lock nodes if nothing happened on any of them, for example if clients use no lock.
func (t *teller) dropIdle() {
	idle := func(l Lane) bool {
		return l.Kind == NodeLane && len(l.Bars) == 0 && len(l.Marks) == 0 && len(l.Shades) == 0
	}
	if t.resourceName() != "" && !slices.ContainsFunc(t.s.Lanes, func(l Lane) bool { return l.Kind == NodeLane && !idle(l) }) {
		t.s.Lanes = slices.DeleteFunc(t.s.Lanes, idle)
	}
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

// atResource reports whether e is the effect of a request at the resource.
func atResource(e *history.Event) bool {
	if e.Kind != history.State {
		return false
	}
	switch e.Op {
	case history.Accept, history.Reject, history.Keep, history.Mark:
		return true
	case history.Set, history.Over:
		return e.Process == history.ResourceName && e.Lease == ""
	}
	return false
}

// resourceName is the name of the process that accepts or rejects writes.
func (t *teller) resourceName() string {
	for i := range t.f.Events {
		if e := &t.f.Events[i]; atResource(e) {
			return e.Process
		}
	}
	return ""
}

func (t *teller) addLanes() {
	add := func(name string, kind LaneKind) { t.s.Lanes = append(t.s.Lanes, Lane{Name: name, Kind: kind, Rows: 1}) }
	for _, c := range t.f.Meta.Clients {
		add(c, ClientLane)
	}
	if t.probing {
		add(t.f.Meta.Probe, ClientLane)
	}
	add("network", NetworkLane)
	watchers := t.watchers()
	for _, n := range t.servers {
		switch {
		case !slices.Contains(t.f.Meta.Others, n):
			add(n, NodeLane)
		case len(watchers) > 1 && slices.Contains(watchers, n):
			t.shared[n] = reports.Ranges(watchers, t.servers)
			if n == watchers[0] {
				add(t.shared[n], OtherLane)
			}
		case t.notable(n):
			add(n, OtherLane)
		}
	}
	if name := t.resourceName(); name != "" {
		add(name, ResourceLane)
	}
}

// notable reports whether a server that is neither a lock node nor a replica has a part in the story. Merely answering is none.
func (t *teller) notable(name string) bool {
	for i := range t.f.Events {
		if e := &t.f.Events[i]; e.Process == name && e.At <= t.s.End && (e.Kind == history.State || e.Kind == history.Injected) {
			return true
		}
	}
	return false
}

// watchers returns the servers that only watch others, and to which nothing happens. They share a lane.
func (t *teller) watchers() []string {
	var watchers []string
	for _, n := range t.f.Meta.Others {
		watches, more := false, false
		for i := range t.f.Events {
			switch e := &t.f.Events[i]; {
			case e.Process != n || e.At > t.s.End:
			case e.Kind == history.State && (e.Op == history.Sdown || e.Op == history.Odown || e.Op == history.Leader):
				watches = true
			case e.Kind == history.State || e.Kind == history.Injected:
				more = true
			}
		}
		if watches && !more {
			watchers = append(watchers, n)
		}
	}
	return watchers
}

func (t *teller) tellClients() {
	for n := range t.f.Holds {
		l := &t.f.Holds[n]
		if t.fruitless(l.ReturnEvent) && !t.proves(l.GrantEvent) {
			continue
		}
		text := l.Client + " holds " + l.Label
		if l.Fence != 0 {
			text += fmt.Sprintf(", fence %d", l.Fence)
		}
		if l.To > l.From {
			t.bar(l.Client, Bar{From: l.From, To: l.To, Style: Holding, Client: l.Client, Text: text, Short: l.Label, hold: l})
		}
	}
	for _, d := range t.deeds {
		t.tellDeed(d)
	}
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if e.Kind != history.Info || t.fruitless(i) {
			continue
		}
		switch e.Op {
		case history.Renew:
			t.mark(e.Process, mark{At: e.At, Shape: Ticked, Client: e.Process, Text: "renews", Weight: trivial, event: i})
		case history.Lost:
			t.mark(e.Process, mark{At: e.At, Shape: Lost, Text: "told that " + e.Lease + " is lost", Weight: Telling, event: i})
		}
	}
}

func (t *teller) tellDeed(d reports.Deed) {
	m := mark{At: d.Invoked, Shape: Act, Client: d.Process, Text: d.Op, Weight: Usual, event: d.In}
	m.Proof = d.Out >= 0 && t.proves(d.Out) && d.Op != history.Acquire
	if d.Folded() && d.Op != history.Acquire {
		t.bar(d.Process, Bar{From: d.Invoked, To: d.Returned, Style: Writing, Client: d.Process})
		m.Text, m.Weight = fmt.Sprintf("%s ×%d", strings.TrimSpace(d.Op+" "+d.Value), d.Times), Telling
		if d.Failed > 0 {
			m.Text += fmt.Sprintf(", %d not done", d.Failed)
		}
		t.mark(d.Process, m)
		return
	}
	switch d.Op {
	case history.Acquire:
		until := d.Returned
		if d.Out < 0 {
			until = t.s.End
		}
		t.bar(d.Process, Bar{From: d.Invoked, To: until, Style: Asking, Client: d.Process})
		m.Shape = Bare
		switch {
		case d.Refused() && d.Outcome == history.Info:
			m.Text = "acquire: no answer"
		case d.Refused():
			m.Text = "acquire refused"
		case d.Outcome == history.Info:
			m.Text = "acquire: outcome unknown"
		}
		if d.Folded() {
			m.Text += fmt.Sprintf(" ×%d", d.Times)
		}
	case history.Extend:
		if d.Outcome == history.Fail {
			m.Text, m.Weight = "extend refused", Telling
		}
	case history.Release:
		switch {
		case d.Outcome == history.Fail:
			m.Text, m.Weight = "release failed", Telling
		case d.Outcome == history.Info && t.lostOnTheWay(d):
			m.Text, m.Weight = "release is lost", Telling
		case d.Outcome == history.Info:
			m.Text, m.Weight = "release: no answer", Telling
		}
	case history.Write, history.Read, history.Update, history.Increment:
		if d.Op != history.Read {
			m.Text = strings.TrimSpace(d.Op + " " + d.Value)
			m.Weight = Telling
			t.bar(d.Process, Bar{From: d.Invoked, To: d.Returned, Style: Writing, Client: d.Process})
		}
		if d.Outcome == history.Fail && d.Lease == "" {
			m.Text = "no " + m.Text + ": " + strings.TrimPrefix(reports.FirstLine(d.Err), d.Op+" skipped: ")
		}
		if end, over := t.leaseEnd(d.Lease, d.Invoked); over && d.Invoked > end {
			t.overtime(d, end)
		}
	}
	t.mark(d.Process, m)
}

// overtime draws one bar for all that a client does under a lease after its end.
func (t *teller) overtime(d reports.Deed, end time.Duration) {
	if l := t.lane(d.Process); l != nil {
		for i := range l.Bars {
			if b := &l.Bars[i]; b.Style == Stale && b.From == end {
				b.To = min(max(b.To, d.Invoked), t.s.End)
				return
			}
		}
	}
	t.bar(d.Process, Bar{From: end, To: d.Invoked, Style: Stale, Client: d.Process,
		Text: d.Lease + " is over, " + d.Process + " does not notice", Short: "lease over"})
}

// lostOnTheWay reports whether a message that d's client sent meanwhile never arrived.
func (t *teller) lostOnTheWay(d reports.Deed) bool {
	return slices.ContainsFunc(t.f.Events[d.In:max(d.In, d.Out)], func(e history.Event) bool {
		return e.Kind == history.Message && e.Op == history.Drop && e.By == d.Process
	})
}

// leaseEnd returns when the hold of a lease ended. A lease may have several holds: the last one that had begun by the given time counts.
func (t *teller) leaseEnd(label string, by time.Duration) (end time.Duration, known bool) {
	for _, l := range t.f.Holds {
		if l.Label == label && (!known || l.From <= by) {
			end, known = max(l.From, l.To), true
		}
	}
	return end, known
}

// tellNodes draws each key on each node, from its setting to its end.
func (t *teller) tellNodes() {
	for _, node := range t.servers {
		t.tellNode(node)
	}
}

func (t *teller) tellNode(node string) {
	var keys []string // one for each row
	renewals, counted := map[string]int{}, map[string]bool{}
	for i := range t.f.Events {
		if e := &t.f.Events[i]; e.Process == node && e.Kind == history.State && e.Op == history.Retime && e.At <= t.s.End && !t.fruitless(i) {
			renewals[e.Owner]++
		}
	}
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if e.Process != node || e.Kind != history.State || t.fruitless(i) && !t.intrudes(e) {
			continue
		}
		if m, ok := t.roleMark(i); ok {
			t.mark(node, m)
			continue
		}
		if e.Lease == "" && e.Owner == "" {
			continue // a key without a lease, such as a counter of fencing tokens, keeps nobody out
		}
		byPrimary := slices.Contains(t.servers, e.By)
		if !slices.Contains(keys, e.Key) && e.Lease != "" {
			keys = append(keys, e.Key)
		}
		m := mark{At: e.At, Client: history.Client(e.Owner), Row: max(0, slices.Index(keys, e.Key)), Weight: Usual, event: i}
		switch e.Op {
		case history.Set, history.Over:
			m.Client = history.Client(e.Lease)
			if _, grant := slices.BinarySearch(t.grants, i); grant {
				m.Shape, m.Text, m.Weight = Granted, t.grantText(e), Telling
			} else if e.Op == history.Over {
				m.Text, m.Weight = "overwritten by "+e.Lease, Telling
			}
		case history.Delete:
			if e.By != "" && e.By != history.Client(e.Owner) && !byPrimary {
				m.Text, m.Weight = "deleted by "+e.By, Telling
			}
		case history.Expire:
			m.Text = "expires"
		case history.Lose:
			m.Shape, m.Text, m.Weight = Lost, "lost", Telling
		case history.Retime:
			if renewed := renewals[e.Owner]; byPrimary {
			} else if renewed < reports.RepeatsFrom {
				m.Text, m.Weight = "extended", trivial
			} else if m.Shape = Ticked; !counted[e.Owner] {
				m.Text, m.Weight = fmt.Sprintf("extended ×%d", renewed), Usual
				counted[e.Owner] = true
			} else {
				t.mark(node, m)
			}
		}
		if m.Text != "" || t.proves(i) {
			t.mark(node, m)
		}
	}
	t.tellLives(node, keys)
}

// tellLives draws the lives of the keys on a node, in the order of their ends. Each key has a row.
func (t *teller) tellLives(node string, keys []string) {
	var lives []*facts.Life
	for n := range t.f.Lives {
		if k := &t.f.Lives[n]; k.Node == node && slices.Contains(keys, k.Key) && (!t.fruitless(k.From) || t.intrudes(&t.f.Events[k.From])) {
			lives = append(lives, k)
		}
	}
	row := func(k *facts.Life) int { return slices.Index(keys, k.Key) }
	slices.SortStableFunc(lives, func(a, b *facts.Life) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(row(a), row(b))) })
	for _, k := range lives {
		set := &t.f.Events[k.From]
		b := Bar{From: set.At, To: t.s.End, Style: Living, Client: history.Client(set.Lease), Text: set.Lease, Row: row(k), life: k}
		if k.To < len(t.f.Events) {
			b.To = t.f.At(k.To)
		}
		if t.f.Servers[set.By] {
			b.Style, b.Text, b.Short = Copied, "copy of "+set.Lease, set.Lease
		}
		t.bar(node, b)
	}
}

// roleMark returns the mark of a change of a server's role, or of what it believes about another server.
func (t *teller) roleMark(i int) (mark, bool) {
	e := &t.f.Events[i]
	m := mark{At: e.At, Shape: Ticked, Weight: Telling, event: i}
	who := ""
	if t.shared[e.Process] != "" {
		who = e.Process + ": "
	}
	switch e.Op {
	case history.Promoted:
		m.Shape, m.Text = Crowned, "primary from here on"
		if missing := t.missing(i); len(missing) > 0 {
			m.Text += ", without " + strings.Join(missing, " ")
		}
	case history.Followed:
		m.Text = "follows " + e.Value
	case history.Sdown:
		m.Text, m.Weight = who+e.Value+" does not answer", Usual
	case history.Odown:
		m.Text = who + e.Value + " is down"
	case history.Leader:
		m.Text, m.Weight = who+"chosen to replace "+e.Value, Usual
	default:
		return mark{}, false
	}
	if t.saidBefore(i) {
		m.Text = ""
	}
	return m, true
}

// saidBefore reports whether another server in the same shared lane has already said what event i says.
func (t *teller) saidBefore(i int) bool {
	e := &t.f.Events[i]
	return slices.ContainsFunc(t.f.Events[:i], func(o history.Event) bool {
		return o.Kind == e.Kind && o.Op == e.Op && o.Value == e.Value && t.shared[o.Process] != "" && t.shared[o.Process] == t.shared[e.Process]
	})
}

// missing returns the leases in force for which a replica has no key when event i promotes it.
func (t *teller) missing(i int) []string {
	e := &t.f.Events[i]
	var missing []string
	for _, l := range t.f.Holds {
		had, has := false, false
		for _, n := range t.f.LivesOf[l.Label] {
			k := &t.f.Lives[n]
			had = had || k.From < i
			has = has || k.Node == e.Process && k.From < i && i < k.To
		}
		if l.From <= e.At && e.At < l.To && had && !has && !slices.Contains(missing, l.Label) {
			missing = append(missing, l.Label)
		}
	}
	return missing
}

// grantText says which lease was granted, and by how many of the nodes.
func (t *teller) grantText(e *history.Event) string {
	if n := len(t.f.Meta.Nodes); n > 1 {
		return fmt.Sprintf("%s granted: %d of %d", e.Lease, t.f.Meta.Quorum(), n)
	}
	return e.Lease + " granted"
}

// fruitless reports whether an event belongs to attempts that are drawn as one.
func (t *teller) fruitless(i int) bool {
	return slices.ContainsFunc(t.folds, func(d reports.Deed) bool { return d.Covers(i, &t.f.Events[i]) })
}

// intrudes reports whether in e a client changed the key of another client.
func (t *teller) intrudes(e *history.Event) bool {
	return e.Kind == history.State && e.Owner != "" && e.By != "" && e.By != history.Client(e.Owner) && !slices.Contains(t.servers, e.By)
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

// flightsShown limits the messages of a picture. If there were more, lines would hide each other, so only writes are drawn.
const flightsShown = 150

// tellFlights draws the writes and, as long as there are few enough, the other messages that changed a server, and then all others.
func (t *teller) tellFlights() {
	var writes, requests, others []flight
	seen := map[flight]bool{}
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if e.At > t.s.End || e.By == "" || e.By == e.Process || t.fruitless(i) && !t.proves(i) && !t.intrudes(e) {
			continue
		}
		if e.Kind == history.Message && slices.Contains(t.servers, e.By) && slices.Contains(t.servers, e.Process) {
			continue // servers talk to each other all the time
		}
		f := flight{From: e.By, To: e.Process, Sent: e.Sent, At: e.At}
		switch {
		case e.Kind == history.State && e.Sent > 0:
			seen[f] = true
			f.Client, f.Proof = e.By, t.proves(i)
			if atResource(e) {
				f.Write = true
				writes = append(writes, f)
			} else {
				requests = append(requests, f)
			}
		case t.silent[i] != "":
			f.Client, f.Write, f.Proof = e.By, true, t.proves(i)
			writes = append(writes, f)
		case e.Kind == history.Message:
			f.Lost = e.Op != history.Deliver
			f.Client = e.By
			if l := t.lane(e.Process); l != nil && l.Kind == ClientLane {
				f.Client = e.Process
			}
			others = append(others, f)
		}
	}
	// A message that caused a change has two events at the same instant.
	others = slices.DeleteFunc(others, func(f flight) bool {
		return seen[flight{From: f.From, To: f.To, Sent: f.Sent, At: f.At}]
	})
	t.s.Flights = writes
	if len(t.s.Flights)+len(requests) <= flightsShown {
		t.s.Flights = append(requests, t.s.Flights...)
	}
	if len(t.s.Flights)+len(others) <= flightsShown {
		t.s.Flights = append(others, t.s.Flights...)
	}
	slices.SortStableFunc(t.s.Flights, func(a, b flight) int {
		weight := func(f flight) int {
			switch {
			case f.Proof:
				return 2
			case f.Write:
				return 1
			}
			return 0
		}
		return cmp.Compare(weight(a), weight(b))
	})
}

func (t *teller) lane(process string) *Lane { return t.s.Lane(cmp.Or(t.shared[process], process)) }

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
