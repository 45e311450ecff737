package scenarios

import (
	"time"

	"lockstep/sim"
)

// A Step is one line of a lane. Steps of a client are operations on the lock and the resource, and waiting; steps of the
// nemesis are faults, each with its moment. Every step is a comparable value, and its printed form is its line in the file,
// without the indentation.
type Step interface {
	String() string
}

// Acquire asks for the lock. With Within above zero the client tries again, after short pauses, until it has the lock or
// that much time has passed; otherwise it tries once.
type Acquire struct {
	Within time.Duration
}

// Release gives back the newest lease that the client obtained, whether or not it still holds.
type Release struct{}

// Write writes a value to the resource, under the newest lease.
type Write struct {
	Value string
}

// Read reads the resource.
type Read struct{}

// Check compares the end of the newest lease with the client's own clock, as careful code does before it writes.
type Check struct{}

// Pause stops the whole process, like [sim.Pause], at this point of its lane.
type Pause struct {
	For time.Duration
}

// Sleep waits by the client's own steady clock, while the process stays alive: connections are read, timers fire.
type Sleep struct {
	For time.Duration
}

// Until waits until a true time since the start of the run, or not at all if it has passed.
type Until struct {
	Time time.Duration
}

// AtStart injects a fault before any lane runs, and arms a [sim.Chosen] one from the start.
type AtStart struct {
	Fault sim.Fault
}

// At injects a fault at a true time since the start of the run.
type At struct {
	Time  time.Duration
	Fault sim.Fault
}

// When injects a fault right after the first event of its kind, or After later.
type When struct {
	Event Event
	After time.Duration
	Fault sim.Fault
}

func (s Acquire) String() string {
	if s.Within == 0 {
		return "acquire"
	}
	return "acquire within " + sim.FormatDuration(s.Within)
}

func (Release) String() string   { return "release" }
func (s Write) String() string   { return "write " + s.Value }
func (Read) String() string      { return "read" }
func (Check) String() string     { return "check" }
func (s Pause) String() string   { return "pause " + sim.FormatDuration(s.For) }
func (s Sleep) String() string   { return "sleep " + sim.FormatDuration(s.For) }
func (s Until) String() string   { return "until " + sim.FormatDuration(s.Time) }
func (s AtStart) String() string { return s.Fault.String() }
func (s At) String() string      { return "at " + sim.FormatDuration(s.Time) + " " + s.Fault.String() }

func (s When) String() string {
	after := ""
	if s.After != 0 {
		after = "+" + sim.FormatDuration(s.After) + " "
	}
	return "when " + s.Event.String() + " " + after + s.Fault.String()
}

// faultOf returns the fault of a step of the nemesis, and nil for a step of a client.
func faultOf(step Step) sim.Fault {
	switch step := step.(type) {
	case AtStart:
		return step.Fault
	case At:
		return step.Fault
	case When:
		return step.Fault
	}
	return nil
}

// An Event is what a [When] step waits for: something that happens to a client.
type Event struct {
	Process string
	What    What
	Value   string // what is written, for Writes and Wrote
}

// What is the word of an [Event].
type What string

// The present tense names the invocation of an operation, the past tense its outcome.
const (
	Acquires What = "acquires"
	Acquired What = "acquired" // ok: the client was handed a lease
	Refused  What = "refused"  // the acquire failed: certainly no lease
	Releases What = "releases"
	Released What = "released" // ok
	Writes   What = "writes"
	Wrote    What = "wrote"   // ok or fail: the resource answered
	Paused   What = "paused"  // by its own lane or by the nemesis
	Resumed  What = "resumed" // likewise
)

func (e Event) String() string {
	s := e.Process + " " + string(e.What)
	if e.Value != "" {
		s += " " + e.Value
	}
	return s
}
