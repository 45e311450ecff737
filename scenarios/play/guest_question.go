package play

import (
	"context"
	"encoding/json"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// question is a question that a guest asks the worker in which it runs. Exactly one field is set.
type question struct {
	Job    bool           `json:"job,omitempty"`    // its job, with an [assignment]
	Random bool           `json:"random,omitempty"` // its random streams begin anew; the answer has a seed
	Begin  bool           `json:"begin,omitempty"`  // answered when its lane begins
	Record *history.Event `json:"record,omitempty"`
	Doing  *doing         `json:"doing,omitempty"`
	Lease  bool           `json:"lease,omitempty"`
	Pause  time.Duration  `json:"pause,omitempty"`
	Until  *time.Duration `json:"until,omitempty"` // answered at once, with a descriptor that becomes readable at that time
	Steady bool           `json:"steady,omitempty"`
	End    bool           `json:"end,omitempty"` // the lane has ended; the answer has a descriptor that never becomes readable
}

type doing struct {
	Op   string `json:"op"`
	ID   int    `json:"id"`
	Lock string `json:"lock,omitempty"`
}

// reply is the answer to a question.
type reply struct {
	Job    json.RawMessage `json:"job,omitempty"`
	Random [4]uint64       `json:"random,omitzero"`
	Lease  string          `json:"lease,omitempty"`
	Steady time.Duration   `json:"steady,omitempty"`
	FD     int32           `json:"fd,omitempty"`
}

// program is a program of guests, compiled to WebAssembly.
type program struct {
	Path  string `json:"path"`
	Cache string `json:"cache"` // the directory for machine code
}

// programOf returns the program of the guests of a run, or the zero program if the run has no guests.
func programOf(ctx context.Context, r script.Section) (program, error) {
	if !r.Guests {
		return program{}, nil
	}
	return self(ctx)
}
