package pictures

import (
	"slices"
	"time"
)

// A story is what a picture shows of a run, still in true time: lanes with what happened on them, and what passed between them.
type story struct {
	lanes    []lane
	flights  []flight
	bands    []band
	callouts []callout
	end      time.Duration // where the picture ends
}

// A lane is the line of one process, or of the network.
type lane struct {
	name   string
	kind   laneKind
	shades []shade
	bars   []bar
	marks  []mark
	rows   int // rows of bars: a node may have several keys, the network several faults
}

type laneKind int

const (
	clientLane laneKind = iota
	networkLane
	nodeLane
	otherLane // a sentinel, or a shard that has no part in the lock
	resourceLane
)

// A bar is an interval in which something lasted.
type bar struct {
	from, to time.Duration
	style    barStyle
	client   string // whose look it has
	text     string
	short    string // the text if there is little room
	row      int
}

type barStyle int

const (
	holding barStyle = iota // a client may rely on its lease
	stale                   // the lease is over, and the client still acts on it
	asking                  // a client asks for the lock
	writing                 // a client waits for the resource
	living                  // a key lives on a node
	copied                  // a copy of a key lives on a replica
	severed                 // a fault on links
)

// A shade is an interval in which a process stands still.
type shade struct {
	from, to time.Duration
	text     string
}

// A mark is something that happened at an instant.
type mark struct {
	at     time.Duration
	shape  shape
	client string // whose look it has
	text   string
	row    int
	weight int
	event  int  // the event that it stands for
	proof  bool // that event proves a violation
	lesser bool // an earlier mark proves a violation of the same property
}

type shape int

const (
	bare     shape = iota // only its label
	act                   // a client invokes an operation
	granted               // the key that made a quorum
	lost                  // a key was lost in a crash, or a lease was reported lost
	leapt                 // a clock was set, or changed its rate
	accepted              // the resource accepted a write
	rejected              // the resource refused a write
	ticked                // a renewal, or a change of roles among servers
	crowned               // a replica took the place of its primary
)

// A flight is a message on its way.
type flight struct {
	from, to string // lanes
	sent, at time.Duration
	client   string // whose look it has
	write    bool   // it is a write to the resource
	lost     bool
	proof    bool
}

// A band is the time in which several clients held the lock at once.
type band struct {
	from, to time.Duration
	clients  []string
}

// A callout says what went wrong at a point of a lane.
type callout struct {
	lane string
	at   time.Duration
	text string
}

// Weights order labels that compete for space.
const (
	trivial = iota
	usual
	telling
	decisive
)

// lane returns the lane of a process, or nil if it has none.
func (s *story) lane(process string) *lane {
	i := slices.IndexFunc(s.lanes, func(l lane) bool { return l.name == process })
	if i < 0 {
		return nil
	}
	return &s.lanes[i]
}
