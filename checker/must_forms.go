package checker

import (
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A MustForm is one kind of [Must].
type MustForm struct {
	// Words is the form of the must. A word in capitals is a placeholder: for a client (c1), a node (n1; NODES, several), the
	// value of a write, a count of two or more, a duration.
	Words string
	// Note explains the words. It may be empty.
	Note string

	met func(m Must, ix *index) bool // whether the state occurred
}

// mustForms lists all musts, in the order in which they are documented. A new one is a row here, and a case in TestMustMet.
var mustForms = []MustForm{
	{"CLIENT acquires", "", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return m.ends(e, history.OK) })
	}},
	{"CLIENT is refused", "", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return m.ends(e, history.Fail) })
	}},
	{"CLIENT is cancelled", "the context of its acquire ends before the acquire returns", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool {
			return e.Process == m.client && e.Kind == history.Info && e.Op == history.Cancel
		})
	}},
	{"CLIENT acquires on NODE", "with a key on it; NODE may be a replica that was promoted", Must.acquiresOn},
	{"CLIENT acquires with NODES down", "", func(m Must, ix *index) bool {
		return ix.some(func(i int, e history.Event) bool { return m.ends(e, history.OK) && m.down(ix, i) })
	}},
	{"CLIENT acquires with under LIMIT left", "of the lease, when its acquire returns", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return m.ends(e, history.OK) && e.Until-e.Clock < m.limit })
	}},
	{"CLIENT tries with NODES down", "", func(m Must, ix *index) bool { // an Acquire may last until they are up again
		return ix.some(func(i int, e history.Event) bool {
			return (m.ends(e, history.Invoke) || m.answered(e) || m.ends(e, history.Info)) && m.down(ix, i)
		})
	}},
	{"CLIENT tries with NODES paused", "", func(m Must, ix *index) bool {
		return ix.some(func(i int, e history.Event) bool {
			return m.ends(e, history.Invoke) && m.all(func(node string) []facts.Span { return ix.Pauses[node] }, i)
		})
	}},
	{"CLIENT reaches only NODES", "during one acquire or extend, its messages arrive at these nodes only", Must.reachesOnly},
	{"CLIENT holds exactly NODES", "when its acquire returns, the key is on these nodes only", Must.holdsExactly},
	{"CLIENT is first at NODES", "the first key that is set on each of them is its own", Must.firstAt},
	{"CLIENT waits for RIVAL", "its acquire is in progress while the other client holds", func(m Must, ix *index) bool {
		return ix.waits(func(client, holder string) bool { return client == m.client && holder == m.rival })
	}},
	{"some client waits for another", "", func(m Must, ix *index) bool {
		return ix.waits(func(client, holder string) bool { return client != holder })
	}},
	{"COUNT clients wait at once", "for a lock that is held; tries in a row are one wait", Must.severalWait},
	{"CLIENT and RIVAL acquire at once", "the two operations are in progress at the same time", func(m Must, ix *index) bool {
		return m.atOnce(ix, history.Acquire)
	}},
	{"CLIENT and RIVAL increment at once", "a lock prevents this; with a lock, use CLIENT waits for RIVAL", func(m Must, ix *index) bool {
		return m.atOnce(ix, history.Increment)
	}},
	{"CLIENT and RIVAL draw the same token", "both send a SET, or SETNX, with the same value", Must.drawSameToken},
	{"CLIENT acquires while RIVAL releases", "its acquire returns while the release of the other is in progress", Must.acquiresInRelease},
	{"CLIENT acquires while its wall clock jumps", "or is slewed", Must.jumpsInAcquire},
	{"CLIENT sees no TTL", "TTL or PTTL of a key is -1", Must.seesNoTTL},
	{"CLIENT crashes while it holds", "", func(m Must, ix *index) bool {
		return slices.ContainsFunc(ix.Holds, func(l facts.Lease) bool { return l.Client == m.client && l.Ended == facts.Crashed })
	}},
	{"CLIENT crashes while it acquires", "and a key of that acquire exists", Must.crashesAcquiring},
	{"CLIENT is cut off while it holds", "no majority of the nodes is in reach", Must.cutOffHolding},
	{"CLIENT pauses after a passed check", "", Must.pausesAfterCheck},
	{"CLIENT resumes after its lease ended", "", Must.resumesAfterLease},
	{"CLIENT resumes after its keys ended", "the keys of an acquire still in progress, on a majority", Must.resumesAfterKeys},
	{"CLIENT resumes after RIVAL acquired", "while it slept", Must.resumesAfterRival},
	{"CLIENT releases after its lease ended", "", func(m Must, ix *index) bool {
		return m.beyond(ix, history.Release, func(at, end time.Duration) bool { return at > end })
	}},
	{"CLIENT extends before its lease ended", "", func(m Must, ix *index) bool {
		return m.beyond(ix, history.Extend, func(at, end time.Duration) bool { return at < end })
	}},
	{"CLIENT extends after its lease ended", "", func(m Must, ix *index) bool {
		return m.beyond(ix, history.Extend, func(at, end time.Duration) bool { return at > end })
	}},
	{"CLIENT extends with NODES down", "", func(m Must, ix *index) bool {
		return ix.some(func(i int, e history.Event) bool {
			return e.Process == m.client && e.Op == history.Extend && e.EndsOperation() && m.down(ix, i)
		})
	}},
	{"CLIENT renews", "", func(m Must, ix *index) bool {
		return ix.some(func(i int, e history.Event) bool {
			if e.Kind == history.State && e.Op == history.Retime && e.By == m.client {
				l := ix.Lease(e.Owner) // a silent renewal
				return l != nil && l.Client == m.client && (l.Renews || ix.Unasked(i))
			}
			return e.Process == m.client && e.Kind == history.Info && e.Op == history.Renew
		})
	}},
	{"CLIENT writes what it read before RIVAL wrote", "its write arrives after that of the other, and it has not read again", Must.writesOvertaken},
	{"CLIENT enters after RIVAL", "it sets the mark of the resource after the other has set one", Must.entersAfter},
	{"write WRITE arrives after its lease ended", "WRITE may also be the word of an update", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool {
			l := ix.HoldAt(e.Lease, e.At)
			return arrives(e, m.write) && l != nil && e.At > l.End
		})
	}},
	{"write WRITE arrives before write NEXT", "", func(m Must, ix *index) bool {
		a := ix.find(func(e history.Event) bool { return arrives(e, m.write) })
		b := ix.find(func(e history.Event) bool { return arrives(e, m.next) })
		return a >= 0 && a < b
	}},
	{"NODE drops the key of CLIENT early", "it expires, or is lost, before its TTL has passed", func(m Must, ix *index) bool {
		return m.someKey(ix, ix.Early)
	}},
	{"NODE keeps the key of CLIENT late", "by more than 1% of its TTL plus 10ms", func(m Must, ix *index) bool {
		return m.someKey(ix, ix.late)
	}},
	{"NODE restarts before the lease of CLIENT ended", "", func(m Must, ix *index) bool {
		return m.restarts(ix, func(restart, end time.Duration) bool { return restart < end })
	}},
	{"NODE restarts after the lease of CLIENT ended", "", func(m Must, ix *index) bool {
		return m.restarts(ix, func(restart, end time.Duration) bool { return restart > end })
	}},
	{"NODE restarts after the lease of CLIENT ended by its wall clock", "", Must.restartsByWall},
	{"NODE restarts with the key of CLIENT", "it had the key when it went down, and still has it", func(m Must, ix *index) bool {
		return m.restartsWith(ix, false)
	}},
	{"NODE restarts without the key of CLIENT", "it had the key when it went down", func(m Must, ix *index) bool {
		return m.restartsWith(ix, true)
	}},
	{"NODE is promoted with the key of CLIENT", "a copy had arrived, even if its own clock has ended it", func(m Must, ix *index) bool {
		return m.promoted(ix, m.hasCopy)
	}},
	{"NODE is promoted without the key of CLIENT", "no copy had arrived of a key that should still exist", func(m Must, ix *index) bool {
		return m.promoted(ix, m.lacksCopy)
	}},
	{"NODE never has the key of CLIENT", "though another copy of the same node has it", Must.neverHas},
	{"NODE is promoted without the last fence", "it does not know the last fencing token that was drawn", func(m Must, ix *index) bool {
		return m.promoted(ix, m.lacksFence)
	}},
	{"NODE does not answer while CLIENT tries", "it is running, but no reply arrives during one acquire, or for half a TTL", Must.keepsSilent},
	{"a request from CLIENT to SERVER takes over LIMIT", "", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return travelled(e, m.client, m.nodes) && e.At-e.Sent > m.limit })
	}},
	{"a reply from SERVER to CLIENT takes over LIMIT", "", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return travelled(e, m.nodes, m.client) && e.At-e.Sent > m.limit })
	}},
	{"a request from CLIENT to SERVER is lost", "with its connection", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return dropped(e, m.client, m.nodes) })
	}},
	{"a reply from SERVER to CLIENT is lost", "", func(m Must, ix *index) bool {
		return ix.some(func(_ int, e history.Event) bool { return dropped(e, m.nodes, m.client) })
	}},
	{"the wall clock of PROCESS is off by over LIMIT", "", func(m Must, ix *index) bool {
		return m.clockOff(ix, func(e history.Event) time.Duration { return e.Wall })
	}},
	{"the steady clock of PROCESS is off by over LIMIT", "", func(m Must, ix *index) bool {
		return m.clockOff(ix, func(e history.Event) time.Duration { return e.Clock - e.At })
	}},
}

// MustForms lists the kinds of musts, in the order in which they are documented.
func MustForms() []MustForm { return slices.Clone(mustForms) }

// forms lists the words of all musts.
func forms() []string {
	var all []string
	for _, f := range mustForms {
		all = append(all, f.Words)
	}
	return all
}

// Met reports whether the state that m demands occurred in the run.
func (m Must) Met(f *facts.Facts) bool { return m.met(&index{Facts: f}) }

func (m Must) met(ix *index) bool {
	i := slices.IndexFunc(mustForms, func(f MustForm) bool { return f.Words == m.form })
	return i >= 0 && mustForms[i].met(m, ix)
}
