package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/sim/history"
)

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

// intrudes reports whether in e a client changed the key of another client.
func (t *teller) intrudes(e *history.Event) bool {
	return e.Kind == history.State && e.Owner != "" && e.By != "" && e.By != history.Client(e.Owner) && !slices.Contains(t.servers, e.By)
}
