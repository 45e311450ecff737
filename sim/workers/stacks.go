package workers

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockstep/sim"
)

// Blocked sums up a dump of stacks: one line per goroutine, or group of goroutines that do the same, with what it waits for and
// where. It is the first thing to look at if a run never became quiet.
func Blocked(stacks string) []string { return diagnose(stacks).lines() }

// goroutine is one goroutine of a dump.
type goroutine struct {
	id      string
	state   string // in the runtime's words: "sync.Mutex.Lock", "chan receive", "runnable"
	bubble  bool
	durable bool // only its own bubble can end its wait
	frames  []frame
	creator frame
	text    string
	alike   int // how many others have the same stack; the dump has it once

	what   activity
	failed bool   // it caused the end of the process or the bubble
	holds  string // why it seems to hold the mutex for which others wait
}

// frame is one call on a stack. The innermost comes first.
type frame struct{ fn, args, at string }

// activity is what a goroutine does, as it matters to a world.
type activity int

const (
	idle      activity = iota // part of Lockstep, or of no interest
	runs                      // running, or runnable
	mutex                     // waits for a mutex, which a bubble does not count as quiet
	outside                   // waits for something else that a bubble does not count as quiet
	network                   // inside I/O on a simulated connection
	waits                     // durably blocked, on anything else
	scheduler                 // drives the world, and waits for it to go quiet
)

var goroutineHead = regexp.MustCompile(`^goroutine (\d+)[^\[]*\[([^\]]+)\]:`)

// parseStacks parses a dump as the Go runtime prints it: by runtime.Stack, after a panic, or on SIGQUIT, which adds addresses to
// each line.
func parseStacks(dump string) []*goroutine {
	var all []*goroutine
	for text := range strings.SplitSeq(dump, "\n\n") {
		text = strings.TrimSpace(text)
		m := goroutineHead.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		g := &goroutine{id: m[1], text: text}
		state, rest, _ := strings.Cut(m[2], ",")
		g.bubble = strings.Contains(rest, "synctest bubble")
		g.durable = strings.Contains(state, "(durable)")
		state, _, _ = strings.Cut(state, " (")
		g.state = state

		at := &frame{}
		for line := range strings.Lines(text[len(m[0]):]) {
			line = strings.TrimRight(line, "\r\n")
			if position, ok := strings.CutPrefix(line, "\t"); ok {
				at.at, _, _ = strings.Cut(position, " ")
			} else if n, ok := strings.CutPrefix(line, sim.AndMore); ok {
				g.alike, _ = strconv.Atoi(n)
			} else if by, ok := strings.CutPrefix(line, "created by "); ok {
				at = &g.creator
				at.fn, _, _ = strings.Cut(by, " in goroutine")
			} else if open := strings.LastIndexByte(line, '('); open > 0 && strings.HasSuffix(line, ")") {
				g.frames = append(g.frames, frame{fn: line[:open], args: line[open+1 : len(line)-1]})
				at = &g.frames[len(g.frames)-1]
			}
		}
		// The frames above a panic, or above runtime.Goexit, handle it. The origin is below the last.
		for i, f := range slices.Backward(g.frames) {
			if f.fn == "panic" || f.fn == "runtime.Goexit" {
				g.frames = g.frames[i+1:]
				break
			}
		}
		g.what = g.activity()
		all = append(all, g)
	}
	return all
}

func (g *goroutine) activity() activity {
	switch {
	case g.in("lockstep/sim/workers.(*worker)."):
		return idle // the worker's own
	case g.state == "synctest.Run", g.in("testing/synctest.testingSynctestTest"):
		return idle // part of every bubble
	case g.state == "synctest.Wait":
		return scheduler
	case g.state == "running", g.state == "runnable", g.state == "preempted", g.state == "copystack", strings.HasPrefix(g.state, "GC assist"):
		return runs
	case strings.HasPrefix(g.state, "sync.Mutex"), strings.HasPrefix(g.state, "sync.RWMutex"), g.state == "semacquire":
		return mutex
	case g.bubble && !g.durable:
		return outside
	case g.in("lockstep/sim.(*Conn).Read"), g.in("lockstep/sim.(*Process).DialContext"):
		return network
	}
	return waits
}

// in reports whether a function with this prefix is on the stack.
func (g *goroutine) in(fn string) bool {
	return slices.ContainsFunc(g.frames, func(f frame) bool { return strings.HasPrefix(f.fn, fn) })
}

// user returns the innermost frame that belongs neither to the standard library nor to the kernel.
func (g *goroutine) user() (frame, bool) {
	for _, f := range g.frames {
		if !f.standard() && !f.kernel() {
			return f, true
		}
	}
	return frame{}, false
}

// where returns the frame that a reader looks for: the innermost one of the code under test. If there is none, it says who
// started the goroutine.
func (g *goroutine) where() string {
	if f, ok := g.user(); ok && f.pkg() == luaCode {
		return luaScript.String() + ", at " + f.String()
	} else if ok {
		return f.String()
	}
	at := "a function that the dump does not show" // it ran on another thread than the one that wrote the dump
	if i := slices.IndexFunc(g.frames, func(f frame) bool { return !f.standard() }); i >= 0 {
		at = g.frames[i].String()
	} else if len(g.frames) > 0 {
		at = g.frames[0].String()
	}
	if g.creator.fn != "" && !g.creator.standard() {
		at += ", started by " + g.creator.String()
	}
	return at
}

// calls returns the innermost frame of the kernel, which says what the code under test called.
func (g *goroutine) calls() string {
	for _, f := range g.frames {
		if f.kernel() {
			return strings.TrimPrefix(f.fn, "lockstep/sim.")
		}
		if !f.standard() {
			break
		}
	}
	return ""
}

var majorVersion = regexp.MustCompile(`^v\d+\.`)

// String prints a frame with a short import path and file name.
func (f frame) String() string {
	fn := f.fn
	dir, base := path.Split(fn)
	if dir != "" && majorVersion.MatchString(base) {
		fn = path.Base(dir) + "/" + base
	} else {
		fn = base
	}
	if f.at == "" {
		return fn
	}
	return fn + " (" + path.Base(strings.ReplaceAll(f.at, `\`, "/")) + ")"
}

// pkg is the import path of the function.
func (f frame) pkg() string {
	dir, base := path.Split(f.fn)
	name, _, _ := strings.Cut(base, ".")
	return dir + name
}

// receiver is the type of the method, or of the method of which the function is a closure; empty for a plain function.
func (f frame) receiver() string {
	if i := strings.Index(f.fn, ".(*"); i >= 0 {
		if j := strings.IndexByte(f.fn[i:], ')'); j >= 0 {
			return f.fn[:i+j+1]
		}
	}
	return ""
}

// this is the first argument, the receiver of a method; empty if the runtime marks it as unreliable.
func (f frame) this() string {
	first, _, _ := strings.Cut(f.args, ",")
	if strings.HasPrefix(first, "0x") && !strings.HasSuffix(first, "?") {
		return first
	}
	return ""
}

func (f frame) kernel() bool {
	return (f.pkg() == "lockstep/sim" || f.pkg() == "lockstep/sim/workers") && !strings.Contains(f.at, "_test.go")
}

// harness reports whether the function belongs to Lockstep's part of a run: it calls the code under test.
func (f frame) harness() bool {
	pkg := f.pkg()
	return f.kernel() || strings.HasPrefix(f.fn, "lockstep/clients.(*Worker).") || pkg == "lockstep/clients" && strings.HasPrefix(f.fn, "lockstep/clients.NewWorker") ||
		(pkg == "lockstep/scenarios" || strings.HasPrefix(pkg, "lockstep/scenarios/")) && !strings.Contains(f.at, "_test.go")
}

// standard reports whether the function belongs to the standard library, by its file, or, if the build trimmed paths, by its
// import path.
func (f frame) standard() bool {
	if root := goroot(); root != "" {
		return strings.HasPrefix(f.at, root)
	}
	pkg := f.pkg()
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && first != "main" && first != "lockstep" && !strings.HasPrefix(pkg, mainModule())
}

var goroot = sync.OnceValue(func() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(strings.Cut).Pointer()).FileLine(0)
	root, _ := strings.CutSuffix(file, "strings/strings.go")
	return root
})

var mainModule = sync.OnceValue(func() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Path != "" {
		return b.Main.Path
	}
	return "main"
})

// diagnosis is the reason why a run does not end, as far as a dump shows it.
type diagnosis struct {
	all     []*goroutine
	suspect []*goroutine // the goroutines of the run, the most informative first
	world   bool         // the run is in a bubble
	total   int          // how many goroutines there were, if the dump does not have all of them; else 0
}

func diagnose(dump string) *diagnosis {
	d := &diagnosis{all: parseStacks(dump)}
	if _, n, cut := strings.Cut(dump, "\n\n"+sim.InAll); cut {
		d.total, _ = strconv.Atoi(strings.TrimSpace(n))
	}
	d.world = slices.ContainsFunc(d.all, func(g *goroutine) bool { return g.bubble })
	for _, g := range d.all {
		if g.what == idle || g.bubble != d.world {
			continue
		}
		if _, ok := g.user(); ok || g.bubble || g.what == runs {
			d.suspect = append(d.suspect, g)
		}
	}
	d.findHolders()
	d.sort()
	return d
}

// blame marks the first goroutine of the dump as failed: the runtime prints the one that ended the process first.
func (d *diagnosis) blame() {
	if len(d.all) == 0 {
		return
	}
	first := d.all[0]
	first.failed = true
	if !slices.Contains(d.suspect, first) { // a library's own goroutine, outside the bubble
		d.suspect = append(d.suspect, first)
	}
	d.sort()
}

func (d *diagnosis) sort() {
	rank := func(g *goroutine) int {
		if g.failed {
			return 0
		}
		if g.holds != "" {
			return int(mutex)*2 + 1
		}
		return int(g.what) * 2
	}
	slices.SortStableFunc(d.suspect, func(a, b *goroutine) int { return rank(a) - rank(b) })
}

// findHolders guesses which goroutines hold the mutexes for which others wait. The runtime does not know, but code that locks
// mostly consists of methods of one type. So the holder is a waiting goroutine in a method of the same value, or else of the same
// type, or else in the same package.
func (d *diagnosis) findHolders() {
	for _, w := range d.suspect {
		if w.what != mutex {
			continue
		}
		locks, ok := w.user()
		if !ok {
			continue
		}
		var best int
		var holders []*goroutine
		for _, g := range d.suspect {
			if g.what != network && g.what != waits && g.what != outside {
				continue
			}
			score := 0
			for _, f := range g.frames {
				score = max(score, kinship(locks, f))
			}
			if score > 0 && g.what == network {
				score += 4 // of two candidates, the one inside I/O is more likely
			}
			if score > best {
				best, holders = score, nil
			}
			if score == best && score > 0 {
				holders = append(holders, g)
			}
		}
		for _, g := range holders {
			word := "probably holds"
			if len(holders) > 1 {
				word = "may hold"
			}
			g.holds = word + " that mutex: it is " + [...]string{1: "in the same package", 2: "in a method of the same type", 3: "in a method of the same value"}[best%4]
		}
	}
}

// kinship returns how closely two frames are related: 3 same receiver, 2 same type, 1 same package.
func kinship(a, b frame) int {
	switch {
	case b.standard() || b.kernel() || a.pkg() != b.pkg():
		return 0
	case a.receiver() == "" || a.receiver() != b.receiver():
		return 1
	case a.this() == "" || a.this() != b.this():
		return 2
	}
	return 3
}

// spins is the cause if a goroutine is running and nothing else is known.
const spins = "a goroutine computes without waiting"

const waitsForMutex = "a goroutine waits for a mutex"

// cause says briefly why the run does not end.
func (d *diagnosis) cause() string {
	some := func(f func(*goroutine) bool) bool { return slices.ContainsFunc(d.suspect, f) }
	for _, g := range d.suspect {
		if g.what == runs && g.in("lockstep/sim.(*World).") {
			return "it is still busy in " + g.where() // the scheduler, or a service that it calls
		}
	}
	switch {
	case some(func(g *goroutine) bool { return g.what == runs }):
		return spins
	case some(func(g *goroutine) bool { return g.what == network && g.holds != "" }):
		return waitsForMutex + " that another holds across I/O"
	case some(func(g *goroutine) bool { return g.holds != "" }):
		return waitsForMutex + " that another holds while it waits"
	case some(func(g *goroutine) bool { return g.what == mutex }):
		return waitsForMutex
	case some(func(g *goroutine) bool { return g.what == outside }):
		return "a goroutine waits for something outside the bubble"
	case d.world:
		return "it is still busy" // all wait durably, so time goes on
	}
	return ""
}

// stuck reports whether the world can never become quiet: a goroutine in the bubble waits for a mutex, none is running, and none
// outside is in I/O after which it could unlock that mutex.
func (d *diagnosis) stuck() bool {
	waiting := false
	for _, g := range d.all {
		switch {
		case g.what == idle:
		case g.what == runs:
			return false
		case g.bubble && g.what == mutex:
			waiting = true
		case g.bubble && g.what == outside, !g.bubble && (g.state == "syscall" || g.state == "IO wait"):
			if _, ok := g.user(); ok {
				return false
			}
		}
	}
	return waiting
}

// telling lists the goroutines whose stacks explain the cause.
func (d *diagnosis) telling() []*goroutine {
	var list []*goroutine
	for _, g := range d.suspect {
		if g.failed || g.what == runs || g.what == mutex || g.what == outside || g.holds != "" {
			list = append(list, g)
		}
	}
	return list
}

func (d *diagnosis) lines() []string {
	var lines []string
	said := map[string]int{} // sentence without its subject → its line
	more := map[string]int{}
	var keys []string
	for _, g := range d.suspect {
		s := g.sentence()
		if _, ok := said[s]; ok {
			more[s] += 1 + g.alike
			continue
		}
		more[s] = g.alike
		said[s] = len(lines)
		keys = append(keys, s)
		lines = append(lines, "goroutine "+g.id+" "+s)
	}
	for _, s := range keys {
		if n := more[s]; n > 0 {
			i := said[s]
			subject := strings.TrimSuffix(lines[i], " "+s)
			lines[i] = fmt.Sprintf("%s (and %d more) %s", subject, n, s)
		}
	}
	if known := d.known(); d.total > known {
		lines = append(lines, fmt.Sprintf("%d goroutines in all, of which these are %d", d.total, known))
	}
	return lines
}

// known returns of how many goroutines the dump has the stacks.
func (d *diagnosis) known() int {
	n := len(d.all)
	for _, g := range d.all {
		n += g.alike
	}
	return n
}

// sentence describes what a goroutine does, without its subject.
func (g *goroutine) sentence() string {
	if g.failed {
		return "failed in " + g.where()
	}
	s := ""
	switch g.what {
	case runs:
		s = "is " + g.state + " in " + g.where()
	case mutex:
		s = "waits for a mutex (" + g.state + ") in " + g.where()
		if g.bubble {
			s += ", which never counts as quiet: virtual time stands still"
		}
	case outside:
		s = "waits (" + g.state + ") in " + g.where() + " for something outside the bubble, which never counts as quiet: virtual time stands still"
	case network:
		s = "is inside " + g.calls() + ", called from " + g.where()
	case scheduler:
		return "is the scheduler: it waits until all other goroutines wait"
	default:
		s = "waits (" + g.state + ") in " + g.where()
		if c := g.calls(); c != "" && !strings.Contains(s, c) {
			s = "waits in " + c + ", called from " + g.where()
		}
	}
	if g.holds != "" {
		s += ", and " + g.holds
	}
	return s
}
