package workers

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

// Report describes a job that did not end by itself.
type Report struct {
	Reason  string   `json:"reason"`            // one line: "panic: assignment to entry in nil map"
	Blocked []string `json:"blocked,omitempty"` // what each goroutine does or waits for, one line each, the most informative first
	Stacks  string   `json:"stacks,omitempty"`  // all stacks, each once, or, if there are none, the last output of the worker
	Memory  bool     `json:"memory,omitempty"`  // it exceeded its memory limit
	Mutex   bool     `json:"mutex,omitempty"`   // a goroutine in a bubble waits for a mutex, so that virtual time stands still
}

// Limits of a report. A lock may panic with a text of any length, and in any number of goroutines.
const (
	keptReason  = 1000
	keptBlocked = 1000
	keptStacks  = 128 << 10
)

// shown returns the frames of a goroutine that a report shows, and whether these are all. Of one that failed they are those of the
// code under test and of what that called, not those of Lockstep that called it.
func (g *goroutine) shown() (frames []frame, whole bool) {
	most := shownFrames
	own := func(f frame) bool { return !f.standard() && !f.harness() }
	if g.failed && !slices.ContainsFunc(g.frames, own) {
		most = shownHarness
	}
	under := false
	for _, f := range g.frames {
		if strings.HasPrefix(f.fn, "runtime.") || strings.HasPrefix(f.fn, "internal/") {
			continue
		}
		under = under || own(f)
		if len(frames) == most || g.failed && under && f.harness() {
			return frames, false
		}
		frames = append(frames, f)
	}
	return frames, true
}

// bounded shortens a report to the limits.
func (r *Report) bounded() *Report {
	if r == nil {
		return nil
	}
	r.Reason = history.Shortened(r.Reason, keptReason)
	for i, line := range r.Blocked {
		r.Blocked[i] = history.Shortened(line, keptReason)
	}
	r.Blocked = r.Blocked[:min(len(r.Blocked), keptBlocked)]
	r.Stacks = history.Shortened(sim.GroupStacks(r.Stacks), keptStacks)
	return r
}

// wayOut says how to stop code that runs on after its job has ended.
func (r *Report) wayOut() string {
	switch {
	case strings.Contains(r.Stacks, "lockstep/clients.NewWorker"):
		return "the function that makes the lock must return; it may wait only for replies, and by the clocks of Env"
	case strings.Contains(r.Stacks, "lockstep/clients.(*Worker).Close"):
		return "Close of the lock must return; it may wait only for replies, and by the clocks of Env"
	}
	return "Lockstep calls Close on a Locker that is an io.Closer when its client has finished; stop your goroutines there"
}

// noMutex says what a lock can do that makes others wait while it waits for a reply.
const noMutex = "in a native run, virtual time stands still while a goroutine waits for a mutex; hold a channel of capacity 1 across I/O or a wait instead"

// Overdue returns the report of a job that has not ended within limit, from the stacks at that time.
func Overdue(limit time.Duration, stacks string) *Report {
	d := diagnose(stacks)
	reason := fmt.Sprintf("the job did not end within %v", limit)
	if d.world {
		reason = fmt.Sprintf("virtual time stands still, and the run was stopped after %v of real time", limit)
	}
	if d.connects() != nil {
		return &Report{Reason: ownConnection + " (" + reason + ")", Stacks: stacks}
	}
	c := d.cause()
	if c != "" {
		reason += ": " + c
	}
	return &Report{Reason: reason, Blocked: d.lines(), Stacks: stacks, Mutex: strings.HasPrefix(c, waitsForMutex)}
}

// stillGoing returns the report of a job that has not ended within limit, though its world was still making progress: it merely
// takes long.
func stillGoing(limit time.Duration, went *sim.Progress, stacks string) *Report {
	return &Report{
		Reason: fmt.Sprintf("the run had not ended after %v of real time, at %.3fs of virtual time and after %d events: with a longer limit it may end",
			limit, time.Duration(went.Now.Load()).Seconds(), went.Events.Load()),
		Blocked: diagnose(stacks).lines(),
		Stacks:  stacks,
	}
}

// failed returns the report of a job that returned an error.
func failed(err error) *Report {
	if leak, ok := errors.AsType[*sim.LeakError](err); ok {
		return &Report{Reason: sim.LeftBehind, Blocked: Blocked(leak.Stacks), Stacks: leak.Stacks}
	}
	reason, rest, _ := strings.Cut(err.Error(), "\n")
	d := diagnose(rest)
	d.blame()
	r := &Report{Reason: reason, Blocked: d.lines(), Stacks: rest}
	var other interface{ usedTooMuch() bool } // the report of a worker of the job itself
	r.Memory = errors.As(err, &other) && other.usedTooMuch()
	return r
}

func (r *Report) usedTooMuch() bool { return r.Memory }

// lastWords matches the beginning of what the Go runtime prints when it ends a process. Only if a library has printed half a line
// before does it not start a line.
var lastWords = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^(?:panic: |fatal error: |SIG[A-Z0-9]+: )`),
	regexp.MustCompile(`(?:panic: |fatal error: |SIG[A-Z0-9]+: )`),
}

// obituary splits what a process printed before it died into the runtime's first line and the stacks after it. Both are empty if
// the runtime did not end the process.
func obituary(printed string) (reason, stacks string) {
	for _, re := range lastWords {
		at := re.FindAllStringIndex(printed, -1)
		if len(at) == 0 {
			continue
		}
		reason, stacks, _ = strings.Cut(printed[at[len(at)-1][0]:], "\n")
		if i := strings.Index(reason, " [recovered"); i > 0 {
			reason = reason[:i]
		}
		return strings.TrimSpace(reason), stacks
	}
	return "", ""
}

// died returns the report of a job whose worker died by itself.
func died(state, printed string) *Report {
	reason, stacks := obituary(printed)
	if reason == "" {
		verb := "exited"
		if strings.HasPrefix(state, "signal: ") {
			verb = "was killed"
		}
		return &Report{Reason: "the worker " + verb + ": " + state, Stacks: printed}
	}
	d := diagnose(stacks)
	if g := d.connects(); g != nil {
		return &Report{Reason: ownConnection + " (" + reason + ")", Stacks: strings.TrimSpace(stacks)}
	}
	if !strings.HasPrefix(reason, "SIGQUIT") { // somebody else sent the signal
		d.blame()
	}
	return &Report{Reason: reason, Blocked: d.lines(), Stacks: strings.TrimSpace(stacks)}
}

// Limits of what String shows, so that a report fits on a screen.
const (
	shownLines      = 12
	shownGoroutines = 4
	shownFrames     = 12
	shownHarness    = 3 // frames of a goroutine that failed outside the code under test
	shownPrinted    = 20
)

// String formats the report for people: the reason, what blocks on what, and the relevant stacks, shortened.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Reason)
	blocked := r.Blocked
	panicked := len(blocked) > 0 && strings.HasPrefix(r.Reason, "panic: ")
	if panicked { // what single other goroutines did is of no interest
		blocked = append(slices.Clone(blocked[:1]), slices.DeleteFunc(slices.Clone(blocked[1:]), func(line string) bool { return !strings.Contains(line, " more) ") })...)
	}
	for i, line := range blocked {
		if i == shownLines {
			fmt.Fprintf(&b, "  (%d more lines)\n", len(blocked)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", line)
	}
	d := diagnose(r.Stacks)
	if len(r.Blocked) > 0 && strings.Contains(r.Blocked[0], " failed in ") { // this is all that a saved report says about it
		d.blame()
	}
	if len(d.all) == 0 {
		printed := strings.Split(strings.TrimSpace(r.Stacks), "\n")
		if cut := len(printed) - shownPrinted; cut > 0 {
			printed = append([]string{fmt.Sprintf("(%d lines before these)", cut)}, printed[cut:]...)
		}
		for _, line := range printed {
			if line != "" {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		return b.String()
	}
	show := d.telling()
	if len(show) == 0 {
		show = d.suspect
	}
	if g := d.connects(); g != nil && strings.HasPrefix(r.Reason, ownConnection) {
		g.failed = true
		if i := slices.IndexFunc(g.frames, func(f frame) bool { return !f.standard() }); i > 0 {
			g.frames = g.frames[i-1:] // what it called in package net is enough
		}
		show = []*goroutine{g}
	}
	if panicked {
		show = show[:min(len(show), 1)]
	}
	show = show[:min(len(show), shownGoroutines)]
	shown := 0
	for _, g := range show {
		and := ""
		if g.alike > 0 {
			and = fmt.Sprintf(" (and %d more)", g.alike)
		}
		fmt.Fprintf(&b, "    goroutine %s%s [%s]:\n", g.id, and, g.state)
		shown += 1 + g.alike
		frames, whole := g.shown()
		for _, f := range frames {
			fmt.Fprintf(&b, "      %s\n        %s\n", f.fn, f.at)
		}
		if !whole {
			fmt.Fprintln(&b, "      ...")
		}
		if g.creator.fn != "" && (whole || !g.failed) {
			fmt.Fprintf(&b, "      created by %s\n        %s\n", g.creator.fn, cmp.Or(g.creator.at, "?"))
		}
	}
	if n := max(d.total, d.known()) - shown; n > 0 {
		fmt.Fprintf(&b, "    (%d more goroutines)\n", n)
	}
	switch {
	case r.Reason == sim.LeftBehind:
		fmt.Fprintln(&b, r.wayOut())
	case strings.Contains(r.Reason, waitsForMutex+" that"):
		fmt.Fprintln(&b, noMutex)
	}
	return b.String()
}
