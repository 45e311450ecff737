package explorer

import (
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Story is what a picture shows of a run, still in true time: lanes with what happened on them, and what passed between them.
type Story struct {
	Lanes    []Lane
	Flights  []flight
	Bands    []band
	Callouts []callout
	End      time.Duration // where the picture ends
}

// LeaseNote explains the name of the first lease that the picture shows; empty if it shows none.
func (s *Story) LeaseNote() string {
	for _, l := range s.Lanes {
		for _, b := range l.Bars {
			if b.Style == Holding {
				return b.Short + ": a lease of " + l.Name
			}
		}
	}
	return ""
}

// A Lane is the line of one process, or of the network.
type Lane struct {
	Name   string
	Kind   LaneKind
	Shades []shade
	Bars   []Bar
	Marks  []mark
	Rows   int // rows of bars: a node may have several keys, the network several faults
}

type LaneKind int

const (
	ClientLane LaneKind = iota
	NetworkLane
	NodeLane
	OtherLane // a sentinel, or a shard that has no part in the lock
	ResourceLane
)

// A Bar is an interval in which something lasted.
type Bar struct {
	From, To time.Duration
	Style    BarStyle
	Client   string // whose look it has
	Text     string
	Short    string // the text if there is little room
	Row      int
	hold     *facts.Lease // that it shows, or nil
	life     *facts.Life  // of the key that it shows, or nil
}

type BarStyle int

const (
	Holding BarStyle = iota // a client may rely on its lease
	Stale                   // the lease is over, and the client still acts on it
	Asking                  // a client asks for the lock
	Writing                 // a client waits for the resource
	Living                  // a key lives on a node
	Copied                  // a copy of a key lives on a replica
	Severed                 // a fault on links
)

// A shade is an interval in which a process stands still.
type shade struct {
	From, To time.Duration
	Text     string
}

// A mark is something that happened at an instant.
type mark struct {
	At     time.Duration
	Shape  Shape
	Client string // whose look it has
	Text   string
	Row    int
	Weight int
	event  int  // the event that it stands for
	Proof  bool // that event proves a violation
	Lesser bool // an earlier mark proves a violation of the same property
}

type Shape int

const (
	Bare     Shape = iota // only its label
	Act                   // a client invokes an operation
	Granted               // the key that made a quorum
	Lost                  // a key was lost in a crash, or a lease was reported lost
	Leapt                 // a clock was set, or changed its rate
	Accepted              // the resource accepted a write
	Rejected              // the resource refused a write
	Ticked                // a renewal, or a change of roles among servers
	Crowned               // a replica took the place of its primary
)

// A flight is a message on its way.
type flight struct {
	From, To string // lanes
	Sent, At time.Duration
	Client   string // whose look it has
	Write    bool   // it is a write to the resource
	Lost     bool
	Proof    bool
}

// A band is the time in which several clients held the lock at once.
type band struct {
	From, To time.Duration
	Clients  []string
}

// A callout says what went wrong at a point of a lane.
type callout struct {
	Lane string
	At   time.Duration
	Text string
}

// Weights order labels that compete for space.
const (
	trivial = iota
	Usual
	Telling
	Decisive
)

// Lane returns the lane of a process, or nil if it has none.
func (s *Story) Lane(process string) *Lane {
	i := slices.IndexFunc(s.Lanes, func(l Lane) bool { return l.Name == process })
	if i < 0 {
		return nil
	}
	return &s.Lanes[i]
}

// CastOf lists the clients of a history, and the probe. The number of a client decides how it looks.
func CastOf(h *history.History) []string {
	c := slices.Clone(h.Meta.Clients)
	if h.Meta.Probe != "" {
		c = append(c, h.Meta.Probe)
	}
	return c
}
