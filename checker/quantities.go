package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Quantity is a figure that is shown beside a verdict and does not affect it. The probe is not included.
type Quantity string

const (
	Wait           Quantity = "wait"           // how long clients asked until they had the lock; tries in a row count as one
	Unavailability Quantity = "unavailability" // the longest time in which somebody asked and nobody held the lock
	Validity       Quantity = "validity"       // the least that was left of a lease when its acquire returned
	Acquiring      Quantity = "acquiring"      // how long a successful acquire took while nobody else held the lock
	RoundTrips     Quantity = "round trips"    // requests to the lock nodes for each lease; several at once are several
	DuplicateWork  Quantity = "duplicate work" // accepted writes of a value that another client had already written
	Takeover       Quantity = "takeover"       // the longest time for which a client asked for a free lock before it was granted it
	Outlives       Quantity = "outlives"       // the most by which a key outlived its TTL
	Increments     Quantity = "increments"     // increments that were requested, skipped and lost, and the value of the counter
)

// Quantities returns all quantities, in the order in which they are listed.
func Quantities() []Quantity {
	return []Quantity{Wait, Acquiring, Unavailability, Validity, RoundTrips, DuplicateWork, Takeover, Outlives, Increments}
}

// A Figure is one number of a [Measurement].
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // s, or empty
}

// A Measurement is the value of one quantity in one run. It has no figures if there was nothing to measure.
type Measurement struct {
	Quantity Quantity `json:"quantity"`
	Figures  []Figure `json:"figures,omitempty"`
	Text     string   `json:"text"` // the figures in words: 9.870s
}

// String prints the measurement as in a timeline: unavailability 9.870s.
func (m Measurement) String() string { return string(m.Quantity) + " " + m.Text }

// Measure returns the measurements of a history, in the order of the quantities. It returns none if the history contradicts
// itself.
func Measure(f *facts.Facts, quantities ...Quantity) []Measurement {
	if len(quantities) == 0 {
		return nil
	}
	var found []Measurement
	for _, q := range quantities {
		m := Measurement{Quantity: q, Text: "none"}
		if f.Malformed == nil {
			m.take(&index{Facts: f})
		}
		found = append(found, m)
	}
	return found
}

func (m *Measurement) take(ix *index) {
	switch m.Quantity {
	case Wait:
		m.wait(ix)
	case Acquiring:
		m.acquiring(ix)
	case Unavailability:
		m.longest(ix.unavailable())
	case Validity:
		m.validity(ix)
	case RoundTrips:
		m.roundTrips(ix)
	case DuplicateWork:
		m.duplicateWork(ix)
	case Takeover:
		m.longest(ix.takeovers())
	case Outlives:
		m.outlives(ix)
	case Increments:
		m.increments(ix)
	}
}

func (m *Measurement) duration(name string, d time.Duration) {
	m.Figures = append(m.Figures, Figure{name, d.Seconds(), "s"})
}

func (m *Measurement) number(name string, n int64) {
	m.Figures = append(m.Figures, Figure{name, float64(n), ""})
}

// longest records the longest of some times.
func (m *Measurement) longest(times []time.Duration) {
	if len(times) == 0 {
		return
	}
	d := slices.Max(times)
	m.duration("longest", d)
	m.Text = history.Seconds(d)
}

func (m *Measurement) wait(ix *index) {
	var most, sum time.Duration
	var got, vain int64
	for _, s := range ix.asked() {
		if s.Vain {
			vain++
			continue
		}
		got++
		sum += s.Value
		most = max(most, s.Value)
	}
	var words []string
	if got > 0 {
		words = m.spread(most, sum/time.Duration(got))
	}
	if vain > 0 {
		m.number("in vain", vain)
		words = append(words, fmt.Sprintf("%d in vain", vain))
	}
	if len(words) > 0 {
		m.Text = strings.Join(words, ", ")
	}
}

// spread records the longest and the mean of some times, and returns them in words.
func (m *Measurement) spread(longest, mean time.Duration) []string {
	m.duration("longest", longest)
	m.duration("mean", mean)
	return []string{history.Seconds(longest) + " at most", history.Seconds(mean) + " on average"}
}

// acquiring measures the time to acquire a lock that is free: it shows a hanging node, or a second try because of a rival. Of
// tries in a row only the last counts, and none if another client had the lock meanwhile.
func (m *Measurement) acquiring(ix *index) {
	var most, sum time.Duration
	var got int64
	taken := map[string][]occupation{} // by lock
	for i := range ix.Holds {
		l := &ix.Holds[i]
		from := l.From
		if ix.Lease(l.Label).ReturnEvent == l.ReturnEvent {
			from = min(l.Granted, l.From)
		}
		taken[l.Lock] = append(taken[l.Lock], occupation{l.Client, facts.Stretch{From: from, To: l.Free()}})
	}
	for _, l := range ix.Leases {
		if l.Client == ix.Meta.Probe || slices.ContainsFunc(taken[l.Lock], func(o occupation) bool {
			return o.client != l.Client && o.From < l.From && l.Invoked < o.To
		}) {
			continue
		}
		got++
		sum += l.From - l.Invoked
		most = max(most, l.From-l.Invoked)
	}
	if got > 0 {
		m.Text = strings.Join(m.spread(most, sum/time.Duration(got)), ", ")
	}
}

// An occupation is a time in which a client had a lock.
type occupation struct {
	client string
	facts.Stretch
}

// unavailable returns the lengths of the times in which somebody asked for a lock that nobody had been granted or held.
func (ix *index) unavailable() []time.Duration {
	asked, taken := map[string][]facts.Stretch{}, map[string][]facts.Stretch{}
	for _, a := range ix.asks() {
		if a.client != ix.Meta.Probe {
			asked[a.lock] = append(asked[a.lock], a.Stretch)
		}
	}
	for _, l := range ix.Holds {
		taken[l.Lock] = append(taken[l.Lock], facts.Stretch{From: min(l.Granted, l.From), To: l.To})
		if ix.Lease(l.Label).ReturnEvent != l.ReturnEvent {
			taken[l.Lock][len(taken[l.Lock])-1].From = l.From
		}
	}
	var times []time.Duration
	for lock, s := range asked {
		for _, x := range facts.Without(facts.Merge(s), facts.Merge(taken[lock])) {
			times = append(times, x.To-x.From)
		}
	}
	return times
}

func (m *Measurement) validity(ix *index) {
	least := time.Duration(history.NoEnd)
	for _, s := range ix.validities() {
		least = min(least, s.Value)
	}
	if least == history.NoEnd {
		return
	}
	m.duration("least", least)
	m.Text = fmt.Sprintf("%.3fs at least", least.Seconds())
}

// roundTrips counts the requests of clients to lock nodes, and to servers that replace them, and the resulting leases. Requests
// to several nodes at once count as several, though the client waits only once. Requests that load a script count too. Those with
// which a client library opens a connection do not.
func (m *Measurement) roundTrips(ix *index) {
	var requests, leases int64
	for _, e := range ix.Events {
		if e.Kind != history.Message || ix.Groups[e.Process] == "" || ix.Servers[e.By] || e.By == ix.Meta.Probe {
			continue
		}
		switch word, _, _ := strings.Cut(strings.ReplaceAll(e.Value, ";", " "), " "); word {
		case "HELLO", "CLIENT", "AUTH", "SELECT", "READONLY", "CLUSTER", "COMMAND":
		default:
			requests++
		}
	}
	for _, l := range ix.Leases {
		if l.Client != ix.Meta.Probe {
			leases++
		}
	}
	if requests == 0 {
		return
	}
	m.number("requests", requests)
	m.number("leases", leases)
	if leases == 0 {
		m.Text = fmt.Sprintf("%d requests and no lease", requests)
		return
	}
	m.Text = fmt.Sprintf("%.1f for each lease, %d for %d", float64(requests)/float64(leases), requests, leases)
}

func (m *Measurement) duplicateWork(ix *index) {
	var writes, again int64
	author := map[string]string{} // of the first write of a value
	for _, e := range ix.Events {
		if e.Kind != history.State || e.Op != history.Accept && e.Op != history.Keep {
			continue
		}
		value := e.Value
		if e.Word != "" {
			value = e.Word
		}
		writes++
		if by, done := author[value]; done && by != e.By {
			again++
		} else if !done {
			author[value] = e.By
		}
	}
	if writes == 0 {
		return
	}
	m.number("writes", writes)
	m.number("again", again)
	m.Text = fmt.Sprintf("%d of %d writes", again, writes)
}

// takeovers returns how long it took each time until another client had the lock, from when it was free and the client asked.
func (ix *index) takeovers() []time.Duration {
	asks := map[int]ask{} // by their last outcome
	for _, a := range ix.asks() {
		asks[a.last] = a
	}
	var times []time.Duration
	for _, leases := range ix.ByGrant() {
		for i, next := range leases[1:] {
			end := leases[i].Free()
			for _, n := range ix.HoldsOf[leases[i].Label] {
				if l := &ix.Holds[n]; l.From < next.Granted {
					end = max(end, l.Free())
				}
			}
			if a, known := asks[next.ReturnEvent]; known {
				end = max(end, a.From)
			}
			if next.Client != leases[i].Client && next.Client != ix.Meta.Probe && end <= next.Granted {
				times = append(times, next.Granted-end)
			}
		}
	}
	return times
}

func (m *Measurement) outlives(ix *index) {
	var most time.Duration
	var node, over string
	name := "longest"
	for _, l := range ix.Lives {
		if l.Promise == history.NoEnd || history.Client(l.Label) == ix.Meta.Probe {
			continue
		}
		// In Redis a key exists through the millisecond of its deadline.
		if d := ix.Lifetime(l) - max(0, l.Promise); d > facts.Rounding && d > most {
			most, node = d, l.Node
			if name, over = "longest", ""; l.To == len(ix.Events) { // it never ended
				name, over = "longest, and more", "over "
			}
		}
	}
	if node == "" {
		return
	}
	m.duration(name, most)
	m.Text = over + history.Seconds(most) + " on " + node
}

func (m *Measurement) increments(ix *index) {
	c := ix.count()
	if c.asked == 0 {
		return
	}
	lost, missing := int64(c.lost), c.unknown-c.landed
	m.number("asked", int64(c.asked))
	m.number("done", int64(c.done))
	m.number("skipped", int64(c.skipped))
	m.number("lost", lost)
	m.number("from", c.base)
	m.number("final", c.final)
	m.Text = fmt.Sprintf("%d asked", c.asked)
	if c.skipped > 0 {
		m.Text += fmt.Sprintf(" - %d skipped", c.skipped)
	}
	if lost > 0 {
		m.Text += fmt.Sprintf(" - %d lost", lost)
	}
	if c.unknown > 0 {
		m.number("unknown", int64(c.unknown))
		m.number("landed", int64(c.landed))
	}
	if missing > 0 {
		m.Text += fmt.Sprintf(" - %d of unknown outcome", missing)
	}
	added := int64(c.asked-c.skipped-missing) - lost
	switch {
	case c.final-c.base == added && c.base == 0:
		m.Text += fmt.Sprintf(" = %d in the counter", c.final)
	case c.final-c.base == added:
		m.Text += fmt.Sprintf(" = %d in the counter, from %d to %d", added, c.base, c.final)
	default:
		m.Text += fmt.Sprintf(", and the counter went from %d to %d", c.base, c.final)
	}
	if c.landed > 0 {
		m.Text += fmt.Sprintf(", of which %d was never acknowledged", c.landed)
	}
}
