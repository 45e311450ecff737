package workers

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/sim"
)

// Memory is an amount of memory in bytes.
type Memory int64

// Units of memory.
const (
	MB Memory = 1e6
	GB Memory = 1e9
)

const (
	// DefaultMemory is the limit if none is given.
	DefaultMemory = 2 * GB
	// LeastMemory is the smallest limit: a worker needs about half of it for itself.
	LeastMemory = 100 * MB
)

func (m Memory) String() string {
	if m >= GB {
		return fmt.Sprintf("%.3g GB", float64(m)/float64(GB))
	}
	return fmt.Sprintf("%.3g MB", float64(m)/float64(MB))
}

// ParseMemory parses what String prints, with or without the space: 2GB, 500 MB.
func ParseMemory(s string) (Memory, error) {
	for unit, bytes := range map[string]Memory{"GB": GB, "MB": MB} {
		number, ok := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(s)), unit)
		if !ok {
			continue
		}
		var n float64
		var rest string
		if got, _ := fmt.Sscanf(number+" .", "%g %s", &n, &rest); got == 2 && rest == "." && n > 0 && n*float64(bytes) < math.MaxInt64 {
			return Memory(n * float64(bytes)), nil
		}
	}
	return 0, fmt.Errorf("%q must be an amount of memory with its unit, such as 500MB or 2GB, and at least 100MB", s)
}

// granted is the limit of this process's job, if it is a worker: it grants no more to workers of its own.
var granted atomic.Int64

// memoryLimit returns the limit of a job.
func (s *Supervisor) memoryLimit() Memory {
	return cmp.Or(s.Memory, Memory(granted.Load()), DefaultMemory)
}

// A worker checks its own memory every 50 ms, and ends with a report if it uses too much. That requires that the Go runtime runs
// the checking goroutine, and covers only memory that the runtime knows. So on Linux the supervisor also checks, from the
// outside, the worker and all processes that it has started. It allows a little more, because the worker's own report can say
// more about what used the memory. The processes that a worker has started are determined less often: going through all threads
// of all processes takes milliseconds.
const (
	weighEvery = 100 * time.Millisecond
	countEvery = 5 // checks
	leastSlack = 500 * MB
)

// tooMuch is the first line of the report on a job that has exceeded its memory limit.
func tooMuch(limit Memory) string { return fmt.Sprintf("the run used more than %v of memory", limit) }

// grant sets the limit for the next job. The garbage collector works harder near the limit, so that only memory in use counts.
func grant(limit Memory) {
	if Memory(granted.Swap(int64(limit))) != limit && limit > 0 {
		debug.SetMemoryLimit(int64(limit) / 4 * 3)
		// A full stack is copied to one of twice the size, and both must fit.
		debug.SetMaxStack(int(min(int64(limit)/8, 1e9)))
	}
}

// Cap limits the memory of this process, which has no supervisor that could: if it uses more, it panics.
func Cap(limit Memory) {
	grant(limit)
	go func() {
		gauge := newGauge()
		for range time.Tick(lookWeigh * lookEvery) {
			if gauge.weigh() > limit {
				r := gauge.report(limit)
				panic(r.Reason + "\n" + r.Stacks)
			}
		}
	}()
}

// A gauge measures how much memory this process uses.
type gauge []metrics.Sample

func newGauge() gauge {
	return gauge{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}
}

func (s gauge) value(i int) Memory {
	if s[i].Value.Kind() != metrics.KindUint64 { // this version of Go does not have it
		return 0
	}
	return Memory(s[i].Value.Uint64())
}

func (s gauge) weigh() Memory {
	metrics.Read(s)
	return s.value(0) - s.value(1)
}

// report describes what used the memory of this process, as far as the runtime knows.
func (s gauge) report(limit Memory) *Report {
	r := &Report{Reason: tooMuch(limit), Memory: true}
	if of := s.use(limit); of != "" {
		r.Reason += ": " + of
	}
	if goroutines := int(s.value(3)); goroutines < mostDumped {
		r.Stacks = sim.Stacks()
		r.Blocked = Blocked(r.Stacks)
	}
	return r
}

// use says what the memory of this process was used for at the last measurement; empty if it is not known.
func (s gauge) use(limit Memory) string {
	stacks, goroutines := s.value(2), int(s.value(3))
	if stacks > limit/4 {
		f, n := mostStarted()
		of := fmt.Sprintf("%v are stacks of %d goroutines", stacks, max(goroutines, n)) // there may be more now
		if n > 0 {
			of += fmt.Sprintf(", %d of them in %s", n, f)
		}
		return of
	}
	collect()
	if f, bytes := largest(); f.fn != "" {
		return fmt.Sprintf("at least %v of it was allocated in %s", bytes, f)
	}
	return ""
}

// withMemory adds memory use to the report of a job that has run for too long, if it is high: it may have been about to reach
// that limit.
func withMemory(r *Report) *Report {
	s, limit := newGauge(), Memory(granted.Load())
	used := s.weigh()
	if limit == 0 || used < max(limit/4, 150*MB) {
		return r
	}
	r.Reason = strings.Replace(r.Reason, spins, "a goroutine still runs", 1)
	r.Reason += fmt.Sprintf("; it uses %v of memory", used)
	if of := s.use(limit); of != "" {
		r.Reason += ": " + of
	}
	return r
}

// collect runs the garbage collector, because only a collection determines what is in use. It does not wait long, because code
// that keeps allocating may prevent the collection from ending.
func collect() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.GC()
	}()
	select {
	case <-done:
	case <-time.After(mostCollected):
	}
}

const mostCollected = 500 * time.Millisecond

// mostDumped is the number of goroutines above which their stacks are not useful.
const mostDumped = 1000

// largest returns where most of the memory in use was allocated, according to the last collection.
func largest() (at frame, bytes Memory) {
	records := make([]runtime.MemProfileRecord, 10_000)
	n, _ := runtime.MemProfile(records, false)
	by := map[frame]int64{}
	var most frame
	for _, r := range records[:n] {
		f := userFrame(r.Stack())
		if by[f] += r.InUseBytes(); f.fn != "" && by[f] > by[most] {
			most = f
		}
	}
	return most, Memory(by[most])
}

// mostStarted returns where most goroutines were started, and how many.
func mostStarted() (at frame, n int) {
	records := make([]runtime.StackRecord, runtime.NumGoroutine()*3/2) // their number may grow meanwhile
	got, ok := runtime.GoroutineProfile(records)
	if !ok {
		return frame{}, 0
	}
	by := map[[32]uintptr]int{}
	var most [32]uintptr
	for _, r := range records[:got] {
		if by[r.Stack0]++; by[r.Stack0] > by[most] {
			most = r.Stack0
		}
	}
	if i := slices.Index(most[:], 0); i >= 0 {
		return userFrame(most[:i]), by[most]
	}
	return userFrame(most[:]), by[most]
}

// luaCode is the package that runs the Lua scripts of simulated nodes. luaScript stands for any of its functions, because which
// one it was says nothing about the script.
const luaCode = "github.com/yuin/gopher-lua"

var luaScript = frame{fn: "a Lua script on a simulated node"}

// userFrame is the innermost frame of a stack that belongs to neither the standard library nor the kernel.
func userFrame(pcs []uintptr) frame {
	if len(pcs) == 0 {
		return frame{}
	}
	frames := runtime.CallersFrames(pcs)
	for {
		c, more := frames.Next()
		f := frame{fn: c.Function, at: fmt.Sprintf("%s:%d", c.File, c.Line)}
		if f.pkg() == luaCode {
			return luaScript
		}
		if f.fn != "" && !f.standard() && !f.kernel() {
			return f
		}
		if !more {
			return frame{}
		}
	}
}

// A scale measures the memory of a worker and of the processes that it has started.
type scale struct {
	pid    int
	family []int // the worker comes first
	checks int
}

// exceeds returns a report if the processes of a job, seen from the outside, use too much memory; nil if they do not, or if it is
// not known.
func (s *scale) exceeds(limit Memory) *Report {
	if limit <= 0 {
		return nil
	}
	if s.checks%countEvery == 0 {
		s.family = family(s.pid)
	}
	s.checks++
	all := sizes(s.family)
	var total Memory
	for i, p := range all {
		if raceEnabled() && p.name == all[0].name { // the same program
			all[i].size /= raceOverhead
		}
		total += all[i].size
	}
	if total <= limit+max(limit/4, leastSlack) {
		return nil
	}
	r := &Report{Reason: tooMuch(limit), Memory: true}
	big := slices.MaxFunc(all, func(a, b relative) int { return cmp.Compare(a.size, b.size) })
	switch {
	case big.pid != s.pid:
		r.Reason += fmt.Sprintf(": %v of it by a process that it had started, %s", big.size, big.name)
	case len(all) > 1:
		r.Reason += fmt.Sprintf(": %v of it by the process that the lock runs in", big.size)
	}
	return r
}

// raceOverhead is the most by which -race multiplies the memory of a program.
const raceOverhead = 6

var raceEnabled = sync.OnceValue(func() bool {
	b, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(b.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
})

// relative is a worker, or a process that was started by one.
type relative struct {
	pid  int
	name string
	size Memory
}
