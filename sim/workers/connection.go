package workers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// ownConnection is what is wrong with a lock that opens connections in package net: in simulation they lead out of the bubble,
// where there are no nodes, and where real time passes.
const ownConnection = "the lock makes its own connections; it must use Env.Nodes, Env.Client or Env.Dial, which lead to the simulated nodes, and close what it makes itself"

// goRedis is the client library of the locks.
const goRedis = "github.com/redis/go-redis/v9"

// OwnConnection plays a run again, and returns an error if code under test connects without its Env: it says where that calls
// package net, or makes a client of go-redis. Callers have reason to suspect it. The place is found by recording the stack of each
// allocation, which makes a run several times slower.
func OwnConnection(play func()) error {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	play()
	runtime.MemProfileRate = rate
	for range 2 { // a profile has what was allocated before the last collection but one
		runtime.GC()
	}
	n, _ := runtime.MemProfile(nil, true)
	records := make([]runtime.MemProfileRecord, n+n/4+100)
	if n, _ = runtime.MemProfile(records, true); n > len(records) {
		return nil
	}
	for _, r := range records[:n] {
		if what, at := connection(r.Stack()); what != "" {
			return errors.New(ownConnection + "\n" + what + " is called in\n" + at)
		}
	}
	return nil
}

// connection returns the function that opens a connection, or makes a client that will, and the frames of the code under test
// that called it. Both are empty if there is no such function on a stack, or if it belongs to Lockstep.
func connection(pcs []uintptr) (what, at string) {
	frames := runtime.CallersFrames(pcs)
	var callers []string
	for {
		c, more := frames.Next()
		f := frame{fn: c.Function, at: fmt.Sprintf("%s:%d", c.File, c.Line)}
		switch {
		case f.fn == "lockstep/clients.connect", strings.HasPrefix(f.fn, "lockstep/clients.(*WarmClients)"):
			return "", ""
		case f.connects():
			what, callers = strings.Replace(f.fn, goRedis, "redis", 1), nil
		case what == "" || f.standard() || strings.HasPrefix(f.fn, goRedis):
		case f.harness():
			more = false
		default:
			callers = append(callers, "  "+f.fn, "    "+f.at)
		}
		if !more {
			break
		}
	}
	if len(callers) == 0 {
		return "", ""
	}
	return what, strings.Join(callers, "\n")
}

// connects reports whether a function opens a connection in package net, or makes a client of go-redis.
func (f frame) connects() bool {
	if name, ok := strings.CutPrefix(f.fn, "net."); ok {
		return strings.HasPrefix(name, "Dial") || strings.HasPrefix(name, "(*Dialer).") || strings.HasPrefix(name, "(*Resolver).")
	}
	name, ok := strings.CutPrefix(f.fn, goRedis+".New")
	return ok && strings.Contains(name, "Client") || f.fn == goRedis+".NewRing"
}

// connects returns the goroutine of a bubble that connects without the Env of its lock; nil if there is none. If that is one that
// go-redis has started for it, it is one that waits for go-redis.
func (d *diagnosis) connects() *goroutine {
	find := func(is func(frame) bool) *goroutine {
		i := slices.IndexFunc(d.all, func(g *goroutine) bool { return g.bubble && slices.ContainsFunc(g.frames, is) })
		if i < 0 {
			return nil
		}
		return d.all[i]
	}
	opens := func(f frame) bool {
		return strings.HasPrefix(f.fn, "net.") && (f.connects() || strings.HasPrefix(f.fn, "net.(*conn)."))
	}
	if find(opens) == nil && find(func(f frame) bool { return strings.HasPrefix(f.fn, "net.(*resolverConfig).") }) == nil {
		return nil
	}
	for _, g := range d.all {
		under := slices.ContainsFunc(g.frames, func(f frame) bool {
			return !f.standard() && !f.harness() && !strings.HasPrefix(f.fn, goRedis)
		})
		if g.bubble && under && slices.ContainsFunc(g.frames, func(f frame) bool { return opens(f) || strings.HasPrefix(f.fn, goRedis) }) {
			return g
		}
	}
	return find(opens)
}
