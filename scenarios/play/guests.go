package play

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// Guests says under what condition the clients of a simulated run are guests, which run as WebAssembly.
type Guests string

const (
	// GuestsAuto, the default, plays a run again with guests if the native run proves nothing because the lock calls package
	// time, because its clients share package variables, which processes do not, or, with [lockstep/scenarios.Restless], for any reason; if it
	// cannot be repeated; or if it does not end because a goroutine waits for a mutex, so that virtual time stands still.
	GuestsAuto Guests = ""
	// GuestsAlways makes all clients guests. A short run then takes some thirty times as long.
	GuestsAlways Guests = "always"
	// GuestsNever makes clients guests only where a scenario file has guests=yes.
	GuestsNever Guests = "never"
)

// A run with guests may take guestsTake times as much real time as a native one.
const guestsTake = 5

// ErrNoGuests is the error of a run with guests on a machine that cannot make them, for example because it has no go command.
var ErrNoGuests = errors.New("this program cannot be compiled to WebAssembly")

// settle applies the mode to the run. A lock in another language needs no guests: its host is already its whole machine. A run
// with guests is never restless: it can be repeated byte for byte, whatever the lock.
func (c *Case) settle() {
	if c.On == OnReal || clients.IsWasm(c.Run.Lock) {
		c.Run.Guests = false
	} else if c.Guests == GuestsAlways {
		c.Run.Guests = true
	}
	if c.Run.Guests {
		c.Restless = false
	}
}

// doubt makes the outcome of a native run UNKNOWN in two cases: if its clients share what processes do not, or if a
// client's clock was wrong and the lock calls package time, or may call it. A wrong clock affects only code that reads the clocks in its Env.
func (c Case) doubt(o *Outcome) {
	c.settle()
	if c.On == OnReal || c.Run.Guests || c.Run.Lock == c.Run.Reference() {
		return
	}
	if v, err := Shared(); err == nil && v != "" && len(c.Scenario.Resolve(c.Run).Clients()) > 1 {
		o.Result.Verdict, o.shares = checker.Inconclusive, true
		o.because("in a native run the clients share what processes on different machines do not (" + v + ")")
		return
	}
	if o.Report != nil || o.Result.OwnTime || !o.setsClientClock() {
		return
	}
	if why := MayCallPackageTime(); why != "" {
		o.Result.Verdict, o.Result.OwnTime = checker.Inconclusive, true
		o.Result.Unmet = append(o.Result.Unmet, "a client's clock was wrong, but package time was right, and "+why)
	}
}

// setsClientClock reports whether a fault of a client's clock had an effect.
func (o *Outcome) setsClientClock() bool {
	if o.Sweep != nil {
		return o.Sweep.ReadClocks > 0
	}
	return slices.ContainsFunc(o.History.Events, func(e history.Event) bool {
		return o.Facts.Bitten[e.ID] && history.SetsClock(e.Fault()) && slices.Contains(o.History.Meta.Clients, e.Process)
	})
}

// NeedsGuests reports whether a run with guests may settle what the outcome of the native run leaves open.
func (c Case) NeedsGuests(o *Outcome) bool {
	c.settle()
	switch {
	case c.Guests != GuestsAuto || c.On == OnReal || c.Run.Guests || clients.IsWasm(c.Run.Lock):
		return false
	case o.Report != nil:
		return o.Report.Mutex || o.shares
	case len(o.Result.Refused) > 0: // nodes refuse the command from guests, too
		return false
	}
	return o.Result.Verdict == checker.Inconclusive && (o.Result.OwnTime || c.Restless) || o.shares || o.Repeat != "" || o.Differs != ""
}

// AsGuests returns the outcome of a case, given the outcome of its native run. If that leaves something open that guests may
// settle, it plays the case with guests. If this machine cannot make guests, it returns what [Case.withoutGuests] does.
func (c Case) AsGuests(ctx context.Context, native *Outcome, play func(Case) (*Outcome, error)) (*Outcome, error) {
	c.doubt(native)
	if !c.NeedsGuests(native) {
		return native, nil
	}
	if _, err := self(ctx); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return c.withoutGuests(native, err)
	}
	c.Run.Guests = true
	o, err := play(c)
	if err != nil {
		return nil, err
	}
	return native.or(o), nil
}

// or returns the outcome of the run with guests. If that run did not end, it returns o, with the reason added.
func (o *Outcome) or(guests *Outcome) *Outcome {
	switch {
	case guests.Report == nil:
		return guests
	case o.Report == nil:
		return o.notAsGuests(guests.Report.Reason)
	}
	return o.because("with the clients as WebAssembly the run did not end either: " + guests.Report.Reason)
}

// withoutGuests returns the outcome of a case whose clients should be guests, which this machine cannot make: the native outcome, with the
// reason added; or the error, if the case must have the same outcome on every machine.
func (c Case) withoutGuests(native *Outcome, err error) (*Outcome, error) {
	if c.Everywhere {
		return nil, err
	}
	return native.notAsGuests(err.Error()), nil
}

// notAsGuests adds to an outcome the reason why the clients could not run as WebAssembly.
func (o *Outcome) notAsGuests(why string) *Outcome {
	return o.because("the clients could not run as WebAssembly: " + why)
}

// because adds to an outcome one more reason why it proves nothing, or why its run did not end.
func (o *Outcome) because(why string) *Outcome {
	o.Result.Unmet = append(o.Result.Unmet, why)
	if o.Report != nil {
		o.Report.Reason += "; " + why
	}
	return o
}

// repeatAsGuests plays again with guests those cases whose indices are in again.
func repeatAsGuests(ctx context.Context, run func(context.Context, []json.RawMessage, func(int, workers.Outcome)) error, cases []Case, again []int, natively []*Outcome, each func(int, *Outcome)) error {
	_, err := self(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		for _, i := range again {
			o, err := cases[i].withoutGuests(natively[i], err)
			if err != nil {
				return err
			}
			each(i, o)
		}
		return nil
	}
	guests := make([]Case, len(again))
	jobs := make([]json.RawMessage, len(again))
	for n, i := range again {
		guests[n] = cases[i]
		guests[n].Run.Guests = true
		if jobs[n], err = guests[n].Job(ctx, i); err != nil {
			return err
		}
	}
	return run(ctx, jobs, func(n int, out workers.Outcome) {
		each(again[n], natively[again[n]].or(guests[n].Outcome(out)))
	})
}
