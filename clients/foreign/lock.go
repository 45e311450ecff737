//go:build !wasm

package foreign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lockstep/clients"
	"lockstep/sim"
	"lockstep/sim/wasm"
)

// lock is a [clients.Locker] whose code is a WebAssembly program.
type lock struct {
	*machine
	in   *wasm.Instance
	file string
	err  error

	newest map[string]*lease // by name
}

// start starts the program, and returns when it waits for the first time.
func start(env clients.Env, program *wasm.Module, file string) *lock {
	m := newMachine(env)
	in := program.Start(wasm.Config{
		Machine: m, In: stdin{m}, Out: stdout{m}, Starved: m.starved, Blocking: true, Random: env.Rand,
		Args: append([]string{filepath.Base(file)}, env.Addrs...),
	})
	select {
	case <-m.idle:
	case <-in.Ended():
	}
	return &lock{machine: m, in: in, file: file, newest: map[string]*lease{}}
}

// Err says what the program did that no lock may do: it ended before its client, or broke the protocol.
func (l *lock) Err() error {
	if l.err != nil {
		return fmt.Errorf("%s%s: %w", clients.WasmPrefix, l.file, l.err)
	}
	return nil
}

// Close ends the program.
func (l *lock) Close() error {
	l.stop()
	<-l.in.Ended()
	return nil
}

// ask sends a request to the program, and returns its answer, split into the first word and the rest.
func (l *lock) ask(ctx context.Context, request string) (word, rest string, err error) {
	if l.err != nil {
		return "", "", l.Err()
	}
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	l.put(request)
	done := ctx.Done()
	for {
		select {
		case answer := <-l.replies:
			word, rest, _ = strings.Cut(answer, " ")
			return word, strings.TrimSpace(rest), nil
		case <-l.in.Ended():
			if l.err = l.ended(); l.err == nil {
				return "", "", context.Canceled // its process is gone
			}
			return "", "", l.Err()
		case <-done:
			if context.Cause(ctx) == clients.ErrCallerGone {
				done = nil // the program cannot be told, and goes on; its answer counts
				continue
			}
			l.stop()
			return "", "", ctx.Err()
		}
	}
}

// ended says why the program ended; nil if its process did.
func (l *lock) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken != nil:
		return l.broken
	case l.in.Err() != nil:
		return l.in.Err()
	case l.in.Exited():
		return errors.New("it exited with status 0, but must answer requests until it is ended")
	}
	return nil
}

// nonsense ends a program that has given an invalid answer.
func (l *lock) nonsense(request, word, rest, want string) error {
	l.stop()
	l.err = fmt.Errorf("it answered %q with %s: %s", request, quoted([]byte(strings.TrimSpace(word+" "+rest))), want)
	return l.Err()
}

func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	request := fmt.Sprintf("acquire %s %d", name, ttl.Milliseconds())
	word, rest, err := l.ask(ctx, request)
	switch {
	case err != nil:
		return nil, err
	case word == "refused":
		return nil, because(clients.ErrNotAcquired, rest)
	case word == "error":
		return nil, unknown(rest)
	case word != "ok":
		return nil, l.nonsense(request, word, rest, "the first word must be ok, refused or error")
	}
	e := &lease{lock: l, name: name}
	fence, err := e.ends(rest)
	if err != nil {
		return nil, l.nonsense(request, word, rest, err.Error())
	}
	l.newest[name] = e
	if fence != nil {
		return &fencedLease{e, *fence}, nil
	}
	return e, nil
}

func because(err error, why string) error {
	if why == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, why)
}

func unknown(why string) error {
	if why == "" {
		why = "the lock gives no reason"
	}
	return errors.New(why)
}

// lease is a [clients.Lease]. Whether the program can extend leases is known only once it is asked to.
type lease struct {
	lock  *lock
	name  string
	until time.Time
}

type fencedLease struct {
	*lease
	fence int64
}

func (l *fencedLease) Fence() int64 { return l.fence }

// farEnd is how far in the future the end of a lease can be. A later end is probably a reading of the wrong clock.
const farEnd = 10 * 365 * 24 * time.Hour

// ends reads what follows ok: [END [FENCE]].
func (l *lease) ends(rest string) (fence *int64, err error) {
	words := strings.Fields(rest)
	if len(words) > 2 {
		return nil, errors.New("ok is followed by at most two numbers: the end of the lease, and a fencing token")
	}
	if len(words) == 2 {
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the fencing token must be a number of at most 63 bits, not %q", words[1])
		}
		fence = &n
	}
	l.until = time.Time{}
	if len(words) == 0 || words[0] == "0" {
		return fence, nil
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	end := time.Duration(n) - wasm.MonotonicBase // since the start of the program
	now := sim.HarnessClock(l.lock.env.Clock).Now().Sub(l.lock.start)
	if err != nil || n < 0 || end < 0 || end-now > farEnd {
		return nil, fmt.Errorf("the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds, which shows %d now, or 0 if the lock does not say", now+wasm.MonotonicBase)
	}
	l.until = l.lock.start.Add(end)
	return fence, nil
}

func (l *lease) Until() time.Time { return l.until }

// errReplaced is the error for a lease after which the program has given another one. A request names only the lock, so it would be about the
// newer lease.
var errReplaced = fmt.Errorf("%w: the client has got another lease with this name", clients.ErrNotHeld)

func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if l.lock.newest[l.name] != l {
		return errReplaced
	}
	request := fmt.Sprintf("extend %s %d", l.name, ttl.Milliseconds())
	asked := sim.HarnessClock(l.lock.env.Clock).Now()
	word, rest, err := l.lock.ask(ctx, request)
	switch {
	case err != nil:
	case word == "ok":
		if _, err := l.ends(rest); err != nil {
			return l.lock.nonsense(request, word, rest, err.Error())
		}
		return nil
	case word == "refused":
		return because(clients.ErrNotHeld, rest)
	case word == "unsupported":
		return clients.ErrNotExtender
	case word == "error":
		err = unknown(rest)
	default:
		return l.lock.nonsense(request, word, rest, "the first word must be ok, refused, error or unsupported")
	}
	if end := asked.Add(ttl); !l.until.IsZero() && end.Before(l.until) {
		l.until = end // the nodes may have either end
	}
	return err
}

func (l *lease) Release(ctx context.Context) error {
	if l.lock.newest[l.name] != l {
		return errReplaced
	}
	request := "release " + l.name
	word, rest, err := l.lock.ask(ctx, request)
	switch {
	case err != nil:
		return err
	case word == "ok":
		return nil
	case word == "refused":
		return because(clients.ErrNotHeld, rest)
	case word == "error":
		return unknown(rest)
	}
	return l.lock.nonsense(request, word, rest, "the first word must be ok, refused or error")
}
