package scenarios

import (
	"errors"
	"flag"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// Fuzz lets go test -fuzz choose the plans that [Explore] draws at random: it prefers inputs that make the lock run code that it has
// not run before. It is the whole body of a fuzz target:
//
//	func FuzzMyLock(f *testing.F) { scenarios.Fuzz(f, newMyLock, scenarios.Like("single")) }
//
// Every input stands for a plan with up to four perturbations: the first byte chooses the calm run, the second the seed, and each
// three bytes after that a perturbation, at a site of the run with those before. What fails, and the report, are as with Explore.
// Inputs that failed, which go test keeps below testdata/fuzz, may stand for another plan once the lock has changed; the command in
// the report always repeats the same plan. Fuzz takes the options of Explore, without [Hunt] and [Limit].
//
// Only what runs in its own process guides the fuzzer, so there are no worker processes. A run that does not end, or a panic of the
// lock, ends the process of the fuzzer, which then reports the input; Explore says more about such runs. The processes of the
// fuzzer, of which go test -parallel sets the number, may together use as much memory as [Memory] says, but each at least 100 MB.
func Fuzz(f *testing.F, newLock clients.New, opts ...Option) {
	f.Helper()
	o, err := gather(newLock, opts, (*options).forFuzzing)
	if err != nil {
		f.Fatal(err)
	}
	page, err := replayed(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Setenv("GODEBUG", os.Getenv("GODEBUG")+",randseednop=0") // as in a worker, libraries draw from a source with a seed
	if isFuzzWorker() {
		runtime.GOMAXPROCS(1)
		workers.Cap(o.fuzzMemory())
	}
	for _, input := range o.inputs() {
		f.Add(input)
	}
	z := &fuzzer{
		exploration: &exploration{bench: &bench{options: o}, t: f, test: f.Name(), newLock: newLock},
		reduced:     map[way]*script.Scenario{},
	}
	if page != nil {
		z.replay(page)
		return
	}
	if !z.ready(f) {
		return
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		z.t = t
		z.run(t, input)
	})
}

// forFuzzing checks the options of [Fuzz], and fills in the defaults.
func (o *options) forFuzzing() error {
	for _, name := range o.given {
		switch name {
		case "Hunt":
			return errors.New("scenarios.Hunt cannot be used with Fuzz; go test -fuzztime says for how long")
		case "Limit":
			return errors.New("scenarios.Limit cannot be used with Fuzz, which has no worker processes to end")
		}
	}
	return o.forExploring()
}

// isFuzzWorker reports whether this is one of the processes that go test -fuzz starts.
func isFuzzWorker() bool {
	is := flag.Lookup("test.fuzzworker")
	return is != nil && is.Value.String() == "true"
}

// fuzzMemory is the share of the memory that one process of the fuzzer may use.
func (o *options) fuzzMemory() workers.Memory {
	all := workers.Memory(o.memory)
	if all == 0 {
		all = workers.DefaultMemory
	}
	processes := 1
	if parallel := flag.Lookup("test.parallel"); parallel != nil {
		if n, err := strconv.Atoi(parallel.Value.String()); err == nil {
			processes = max(n, 1)
		}
	}
	return max(all/workers.Memory(processes), workers.LeastMemory)
}

// perturbationBytes is how many bytes of an input choose a perturbation.
const perturbationBytes = 3

// inputs are those that the fuzzer starts with: the calm run, and a plan for each kind.
func (o *options) inputs() [][]byte {
	all := [][]byte{{}}
	for i := range o.within {
		all = append(all, []byte{0, 0, byte((2*i + 1) * 128 / len(o.within)), 128, 0})
	}
	return all
}

// A fuzzer plays the plans of one process of the fuzzer, or those of go test without -fuzz.
type fuzzer struct {
	*exploration
	reduced map[way]*script.Scenario // by a way to fail without its attempt: an input that fails is tried many times, in smaller forms
}

// ready plays, in a process of the fuzzer, the runs that it takes to tell what fails. The fuzzer ends a process that spends more than ten
// seconds on one input, and on a busy machine these take longer. It returns false if the test has failed.
func (z *fuzzer) ready(f *testing.F) bool {
	f.Helper()
	if !z.prepare("Fuzz") {
		return false
	}
	if len(z.calm) == 0 {
		f.Error("nothing is proved: no calm run applies to the lock; see scenarios.Shaped")
		return false
	}
	if !isFuzzWorker() {
		return true
	}
	z.patience = 5 * time.Second
	for _, c := range z.calm {
		for _, r := range c.references {
			if err := r.Survey(f.Context()); err != nil {
				f.Fatal(err)
			}
		}
	}
	return true
}

// run plays the plan that an input stands for, and fails the test if it breaks a claim.
func (z *fuzzer) run(t *testing.T, input []byte) {
	for _, c := range z.calm {
		if len(c.tried) > mostTried {
			clear(c.tried)
		}
	}
	a := z.plan(input)
	if len(a.failures) == 0 {
		return
	}
	f := a.failures[0]
	z.fail(t, a, f)
	if f.Failing == (play.Failing{}) {
		z.explain(t, a.outcome, a.page(), f)
		return
	}
	w := way{failure: failure{Failing: f.Failing, Claim: f.Claim}}
	i := slices.IndexFunc(a.outcome.Result.Violations, f.Is)
	w.outline = search.Outline(a.outcome.History, a.outcome.Result.Violations[i])
	page, err := z.reduced[w], error(nil)
	if page == nil {
		if page, err = z.smallest(t, a, f); err == nil {
			z.reduced[w] = page
		}
	}
	z.explainReduced(t, page, err, f)
}

// mostTried limits the attempts that are remembered. Inputs with the same first bytes come one after the other.
const mostTried = 200

// plan plays the plan that an input stands for.
func (z *fuzzer) plan(input []byte) *attempt {
	at := func(i int) int {
		if i < len(input) {
			return int(input[i])
		}
		return 0
	}
	d := drawing{of: z.calm[at(0)%len(z.calm)], seed: z.seed + uint64(at(1)%seedsDrawn)}
	for i := 2; i+perturbationBytes <= len(input) && len(d.plan) < mostDrawn; i += perturbationBytes {
		longer, ok := d.longer(at(i), 1<<8, at(i+1)<<8|at(i+2), 1<<16)
		if !ok {
			break
		}
		d = longer
	}
	return d.of.try(d, false)
}
