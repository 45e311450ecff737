package play

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/nodes/live"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/wasm"
	"lockstep/sim/workers"
)

// Where a run can take place.
const (
	OnSim  = history.OnSim
	OnReal = history.OnReal
	canary = 10 // one simulated run in this many is played twice, and must be the same
)

// A Case is one run of one scenario that is to be played.
type Case struct {
	Scenario *script.Scenario
	Run      script.Section // of Scenario, not resolved; perhaps with another lock by [Section.With]
	Seed     uint64         // 0 stands for that of the run, whose default is 1
	On       string         // OnSim (the default) or OnReal
	Speed    float64        // on real Redis: the most by which durations are divided; see [Scenario.SpeedOf]
	// Servers are existing servers for the run. By default, with OnReal, servers are started for it.
	Servers live.Remotes
	prefix  string // of its keys on these servers
	// Limit is, on real Redis, how much more time than its lane says a client may take before the run is abandoned; default 20s.
	Limit time.Duration
	// Tries is, on real Redis, how often a run may be played if its outcome was due to luck; default once.
	Tries int
	// Restless says that the lock's runs are not reproducible to the byte. Each is played twice, and what the clients saw is
	// compared instead of the traces; a difference is in [Outcome.Repeat].
	Restless bool
	Promise  Promise // what is claimed of the lock
	// Guests says when the clients of a simulated run run as WebAssembly; see [GuestsAuto].
	Guests Guests
	// New makes the lock if there are no workers (GOOS=js), which find it by its name; default: [clients.Find].
	New clients.New
	// Elsewhere says that another shard plays the case: RunAll leaves it out.
	Elsewhere bool
	// Everywhere says that the case must have the same outcome on every machine: if this machine cannot make guests, that is an error.
	Everywhere bool
}

// job is a case in the form in which it is sent to a worker process. The scenario is sent as text, because that can be printed
// and parsed.
type job struct {
	File   string  `json:"file"`
	Source string  `json:"source"`
	Run    string  `json:"run"`
	Lock   string  `json:"lock"`
	Seed   uint64  `json:"seed"`
	On     string  `json:"on"`
	Speed  float64 `json:"speed"`
	Twice  bool    `json:"twice"`
	// Restless makes the comparison one of what the clients saw.
	Restless bool `json:"restless,omitempty"`
	// Guests makes the clients guests, even if the page does not say so.
	Guests  bool    `json:"guests,omitempty"`
	Program program `json:"program,omitzero"` // of guests, or of clients on real servers whose package time must be set
	// Patience is the factor by which the limit of the supervisor is multiplied for this job; see [workers.Supervisor].
	Patience int `json:"patience,omitempty"`

	// On real Redis:
	Servers string        `json:"servers,omitempty"` // with credentials, if they are existing servers
	Prefix  string        `json:"prefix,omitempty"`  // of its keys on these servers
	Limit   time.Duration `json:"limit,omitempty"`
	Tries   int           `json:"tries,omitempty"`
	Client  *assignment   `json:"client,omitempty"` // for a process that is a client of the run

	Task json.RawMessage `json:"task,omitempty"` // for the worker's [Task], which replaces the run
}

// done is what a worker sends back.
type done struct {
	History  *history.History
	Checksum string          // of the repetition
	Repeat   string          // how the repetition differed for its clients
	Result   json.RawMessage // what the worker's [Task] returned
}

func init() { workers.Register(&done{}) }

// A Finder returns the lock that a run names; [clients.Find] finds those of the literature.
type Finder func(lock string) (clients.New, error)

// A Task is what a worker does with a run instead of playing it once. Searches define one. The scenario has one run;
// data and the result are sent as JSON.
type Task func(ctx context.Context, data json.RawMessage, s *script.Scenario, build clients.New, seed uint64) (any, error)

// RunAll plays the cases in the workers of a supervisor, and calls each with every outcome, as runs end. If a worker died, never
// went quiet, or left goroutines behind, the case has the verdict UNKNOWN and a Report. One simulated case in ten is played
// twice: if the two differ, that is UNKNOWN too. A case of a restless lock is always played twice.
//
// The workers must call [Serve].
func RunAll(ctx context.Context, s *workers.Supervisor, cases []Case, each func(i int, o *Outcome)) error {
	var jobs []json.RawMessage
	var places []int // of the jobs among the cases
	session := session(cases)
	for i, c := range cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.Elsewhere {
			continue
		}
		if len(c.Servers) > 0 {
			c.prefix = live.RunPrefix(session, i)
		}
		data, err := c.Job(ctx, i)
		if err != nil {
			return err
		}
		jobs, places = append(jobs, data), append(places, i)
	}
	long := *s
	for _, c := range cases {
		long.Limit = max(long.Limit, c.Longest())
	}
	run := long.Run
	if runtime.GOOS == "js" {
		run = inProcess(cases) // there are no worker processes
	}
	clean := 0
	var again []int // cases that are played once more, with guests
	natively := make([]*Outcome, len(cases))
	err := run(ctx, jobs, func(n int, out workers.Outcome) {
		if out.Report == nil {
			clean++
		}
		i := places[n]
		o := cases[i].Outcome(out)
		cases[i].doubt(o)
		if cases[i].NeedsGuests(o) {
			again, natively[i] = append(again, i), o
			return
		}
		each(i, o)
	})
	if err == nil && len(again) > 0 {
		err = repeatAsGuests(ctx, run, cases, again, natively, each)
	}
	if session != "" && clean < len(jobs) {
		err = errors.Join(err, sweep(ctx, session, cases))
	}
	return err
}

// JobKey identifies a job by what it plays, on any machine: without the file of the program that its guests run, which belongs to the
// program that plays it.
func JobKey(data json.RawMessage) ([sha256.Size]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return [sha256.Size]byte{}, err
	}
	delete(fields, "program")
	text, err := json.Marshal(fields)
	return sha256.Sum256(text), err
}

// Job returns the case as sent to a worker. Its number determines whether it is one of those that are played twice.
func (c Case) Job(ctx context.Context, i int) (json.RawMessage, error) {
	c.settle()
	p, err := programOf(ctx, c.Run)
	if err != nil {
		return nil, err
	}
	if c.needsClocks() {
		p.Path, _ = clocked(ctx) // if there is none, Outcome says why
	}
	twice := c.On != OnReal && (c.Restless || i%canary == 0)
	return json.Marshal(job{
		File: c.Scenario.File, Source: c.source(), Run: c.Run.ID(), Lock: c.Run.Lock, Seed: c.seed(), On: c.On,
		Speed: c.Scenario.SpeedOf(c.Run, c.Speed), Twice: twice, Restless: c.Restless, Limit: c.Limit, Tries: c.Tries,
		Servers: c.Servers.URLs(), Prefix: c.prefix, Guests: c.Run.Guests, Program: p, Patience: c.patience(),
	})
}

// source is the page with the section of the case only: a page may have thousands.
func (c Case) source() string {
	page := *c.Scenario
	if r, err := page.FindRun(c.Run.ID()); err == nil {
		page.Runs = []script.Section{r}
	}
	return page.String()
}

// patience returns the factor by which the limit is multiplied for the case; 0, which counts as 1, for a native run.
func (c Case) patience() int {
	if c.Run.Guests {
		return guestsTake
	}
	return 0
}

// seed returns the seed with which it is played.
func (c Case) seed() uint64 { return cmp.Or(c.Seed, c.Run.Seed, 1) }

// Longest returns how long a case on real servers can take: its clients have less time. It is 0 for others.
func (c Case) Longest() time.Duration {
	if c.On != OnReal {
		return 0
	}
	return clientLimit(realRun(c.Scenario, c.Run, c.Speed), c.Limit)*time.Duration(max(c.Tries, 1)*(1+stallsPerTry)) + DefaultLimit
}

// Outcome judges what a worker has returned for the case.
func (c Case) Outcome(out workers.Outcome) *Outcome {
	c.settle()
	r := c.Scenario.Resolve(c.Run)
	if c.On == OnReal {
		r = faster(r, c.Scenario.SpeedOf(c.Run, c.Speed))
	}
	if out.Report != nil {
		return crashed(c, r, out.Report)
	}
	d, ok := out.Result.(*done)
	if !ok || d.History == nil {
		return crashed(c, r, &workers.Report{Reason: "the worker sent no history"})
	}
	o := Judge(c.Scenario, r, d.History)
	if c.needsClocks() && o.Result.OwnTime {
		if _, err := clocked(context.Background()); err != nil {
			o.Result.Unmet = append(o.Result.Unmet, err.Error())
		}
	}
	o.Repeat, o.Promise = d.Repeat, c.Promise
	if first := d.History.Meta.Checksum; d.Checksum != "" && d.Checksum != first {
		o.Result.Verdict = checker.Inconclusive
		o.Differs = fmt.Sprintf("not reproducible: checksum %s, then %s", first, d.Checksum)
		o.Result.Unmet = append(o.Result.Unmet, o.Differs)
	}
	return o
}

// crashed is the outcome of a case whose run did not end.
func crashed(c Case, r script.Section, report *workers.Report) *Outcome {
	if clients.IsWasm(r.Lock) && !strings.Contains(report.Reason, r.Lock) { // it may have been ended before it could say its name
		report.Reason = r.Lock + ": " + report.Reason
	}
	o := &Outcome{Scenario: c.Scenario, Run: r, Report: report, Promise: c.Promise}
	o.History = &history.History{Meta: metaOf(r, c.Scenario, c.where(), c.seed())}
	o.Facts = facts.Of(o.History)
	o.Result = checker.Result{Verdict: checker.Inconclusive, Unmet: []string{report.Reason}}
	for _, p := range checker.Properties() {
		o.Result.Statuses = append(o.Result.Statuses, checker.PropertyStatus{Property: p, Status: checker.Unknown})
	}
	return o
}

// Serve does the work of a worker process: it plays cases for its supervisor until there are no more.
func Serve(find Finder, task Task) error {
	QuietRedis()
	if wasm.Inside {
		return beGuest(find)
	}
	return workers.Work(func(ctx context.Context, data json.RawMessage) (any, error) { return Perform(ctx, data, find, task) })
}

// QuietRedis keeps go-redis from logging each failed dial: those are part of the scenarios and of their histories.
func QuietRedis() { redis.SetLogger(&logging.VoidLogger{}) }

// Perform does a job, and returns the result that the worker sends to its supervisor.
func Perform(ctx context.Context, data json.RawMessage, find Finder, task Task) (any, error) {
	j, s, r, build, err := readJob(data, find)
	if err != nil {
		return nil, err
	}
	if j.On != OnReal {
		useProgram(j.Program)
	}
	if j.Client != nil {
		return &done{}, beClient(ctx, s, r, build, j)
	}
	if j.Task != nil {
		s.Runs = []script.Section{r}
		result, err := task(ctx, j.Task, s, build, j.Seed)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(result)
		return &done{Result: data}, err
	}
	if j.On == OnReal {
		o, err := trying(ctx, s, r, j)
		if err != nil {
			return nil, err
		}
		return &done{History: o.History}, nil
	}
	h, err := record(nil, Variant{}, s, r, build, j.Seed)
	if avoidsEnv(h, err) {
		if own := workers.OwnConnection(func() { record(nil, Variant{}, s, r, build, j.Seed) }); own != nil {
			return nil, own
		}
	}
	if err != nil {
		return nil, err
	}
	d := &done{History: h}
	if j.Twice {
		again, err := record(nil, Variant{}, s, r, build, j.Seed)
		if err != nil {
			return nil, err
		}
		if j.Restless {
			d.Repeat = Difference(Judge(s, s.Resolve(r), h), Judge(s, s.Resolve(r), again))
		} else {
			d.Checksum = again.Meta.Checksum
		}
	}
	return d, nil
}

// readJob decodes a job: its scenario, its run with the lock that is to be played, and that lock.
func readJob(data json.RawMessage, find Finder) (j job, s *script.Scenario, r script.Section, build clients.New, err error) {
	if err = json.Unmarshal(data, &j); err != nil {
		return
	}
	if s, err = script.Parse(j.File, []byte(j.Source)); err != nil {
		return
	}
	if r, err = s.FindRun(j.Run); err != nil {
		return
	}
	r = r.With(j.Lock)
	r.Guests = (r.Guests || j.Guests) && !clients.IsWasm(r.Lock)
	build, err = find(r.Lock)
	return
}

// avoidsEnv reports whether the code under test seems to connect without its Env: it leaves goroutines of go-redis behind, sends
// nothing to any node, or meets an error of the network of this machine.
func avoidsEnv(h *history.History, err error) bool {
	if leak, ok := errors.AsType[*sim.LeakError](err); ok {
		return strings.Contains(leak.Stacks, "github.com/redis/go-redis/v9/")
	}
	if err != nil {
		return false
	}
	known := h.Meta.Nodes
	sent := slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.Kind == history.Message && (slices.Contains(known, e.Process) || slices.Contains(known, e.By))
	})
	return !sent || meetsHost(h)
}

// meetsHost reports whether a lock got an error from the network of this machine, which it must not use in simulation.
func meetsHost(h *history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return strings.Contains(e.Error, ": connect: ") || strings.Contains(e.Error, ": lookup ")
	})
}

// inProcess does the jobs, one for each case, one after the other in this process.
func inProcess(cases []Case) func(context.Context, []json.RawMessage, func(int, workers.Outcome)) error {
	return func(ctx context.Context, jobs []json.RawMessage, each func(int, workers.Outcome)) error {
		for i, j := range jobs {
			if err := ctx.Err(); err != nil {
				return err
			}
			out, err := PerformHere(ctx, j, cases[i].Find, nil)
			if err != nil {
				return err
			}
			each(i, out)
		}
		return nil
	}
}

// PerformHere does a job in this process, for a caller without worker processes.
func PerformHere(ctx context.Context, job json.RawMessage, find Finder, task Task) (workers.Outcome, error) {
	QuietRedis()
	d, err := Perform(ctx, job, find, task)
	if err != nil {
		return workers.Outcome{Report: &workers.Report{Reason: err.Error()}}, nil
	}
	return workers.Outcome{Result: d}, nil
}

// TaskJob returns the job of a worker that does its [Task] with the run of the case.
func (c Case) TaskJob(ctx context.Context, task any) (json.RawMessage, error) {
	data, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	c.settle()
	p, err := programOf(ctx, c.Run)
	if err != nil {
		return nil, err
	}
	return json.Marshal(job{
		File: c.Scenario.File, Source: c.source(), Run: c.Run.ID(), Lock: c.Run.Lock, Seed: c.seed(), On: OnSim, Task: data, Guests: c.Run.Guests, Program: p, Patience: c.patience(),
	})
}

// ReadTaskResult decodes what the [Task] of a worker returned.
func ReadTaskResult(out workers.Outcome, result any) error {
	d, ok := out.Result.(*done)
	if !ok || d.Result == nil {
		return errors.New("scenarios: the worker has answered something other than this task")
	}
	return json.Unmarshal(d.Result, result)
}

// Find returns the lock that the case plays: New, or the one with that name.
func (c Case) Find(lock string) (clients.New, error) {
	if c.New != nil {
		return c.New, nil
	}
	return clients.Find(lock)
}
