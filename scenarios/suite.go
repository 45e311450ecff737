package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/sim"
)

// Where a run can take place.
const (
	OnSim   = "sim"
	OnReal  = "redis"
	canary  = 10 // one simulated run in so many is done twice, and must come out the same
	noSpeed = 1
)

// A Case is one run of one scenario that is to be done.
type Case struct {
	Scenario *Scenario
	Run      Section // of Scenario, not resolved; perhaps [Section.With] another lock than its own
	Seed     uint64
	On       string  // OnSim (the default) or OnReal
	Speed    float64 // on real Redis: what durations are divided by; default 1
}

// job is a case on its way to a worker process. The scenario travels as text, since that is what prints and parses.
type job struct {
	File   string  `json:"file"`
	Source string  `json:"source"`
	Run    string  `json:"run"`
	Lock   string  `json:"lock"`
	Seed   uint64  `json:"seed"`
	On     string  `json:"on"`
	Speed  float64 `json:"speed"`
	Twice  bool    `json:"twice"`
}

// done is what a worker sends back.
type done struct {
	History  *sim.History `json:"history"`
	Checksum string       `json:"checksum,omitempty"` // of the second time
}

// RunAll does the cases in the workers of a supervisor and calls each with every outcome, as they end. A case whose worker
// died, never went quiet, or left goroutines behind has the verdict UNKNOWN and a Report. One simulated case in ten is
// done twice: if the two differ, that is UNKNOWN too.
//
// The workers must call [Serve].
func RunAll(ctx context.Context, s *sim.Supervisor, cases []Case, each func(i int, o *Outcome)) error {
	var jobs []json.RawMessage
	for i, c := range cases {
		j := job{c.Scenario.File, c.Scenario.String(), c.Run.ID(), c.Run.Lock, c.Seed, c.On, max(c.Speed, noSpeed), c.On != OnReal && i%canary == 0}
		data, err := json.Marshal(j)
		if err != nil {
			return err
		}
		jobs = append(jobs, data)
	}
	run := s.Run
	if runtime.GOOS == "js" {
		run = inProcess // there are no other processes to be had
	}
	return run(ctx, jobs, func(i int, out sim.Outcome) {
		c := cases[i]
		r := c.Scenario.Resolve(c.Run)
		if c.On == OnReal {
			r = r.faster(max(c.Speed, noSpeed))
		}
		if out.Report != nil {
			each(i, crashed(c, r, out.Report))
			return
		}
		var d done
		if err := json.Unmarshal(out.Result, &d); err != nil {
			each(i, crashed(c, r, &sim.Report{Reason: "the worker's answer cannot be read: " + err.Error()}))
			return
		}
		o := judge(c.Scenario, r, d.History)
		if first := d.History.Meta.Checksum; d.Checksum != "" && d.Checksum != first {
			o.Result.Verdict = checker.Inconclusive
			o.Result.Unmet = append(o.Result.Unmet, fmt.Sprintf("not reproducible: checksum %s, then %s", first, d.Checksum))
		}
		each(i, o)
	})
}

// crashed is the outcome of a case that did not end by itself.
func crashed(c Case, r Section, report *sim.Report) *Outcome {
	o := &Outcome{Scenario: c.Scenario, Run: r, Report: report}
	o.History = &sim.History{Meta: r.meta(c.Scenario, c.On, c.Seed)}
	o.Result = checker.Result{Verdict: checker.Inconclusive, Unmet: []string{report.Reason}}
	for _, p := range checker.Properties() {
		o.Result.Statuses = append(o.Result.Statuses, checker.PropertyStatus{Property: p, Status: checker.Unknown})
	}
	return o
}

// Serve is what a worker process does: it takes cases from its supervisor until there are no more. Find returns the lock
// that a run names; [clients.Find] knows those of the literature.
func Serve(find func(lock string) (clients.New, error)) error {
	quietRedis()
	return sim.Work(func(ctx context.Context, data json.RawMessage) (any, error) { return perform(ctx, data, find) })
}

// quietRedis keeps go-redis from logging each failed dial: they are what runs are about, and part of their histories.
func quietRedis() { redis.SetLogger(&logging.VoidLogger{}) }

func perform(ctx context.Context, data json.RawMessage, find func(string) (clients.New, error)) (*done, error) {
	var j job
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	s, err := Parse(j.File, []byte(j.Source))
	if err != nil {
		return nil, err
	}
	r, err := s.FindRun(j.Run)
	if err != nil {
		return nil, err
	}
	r = r.With(j.Lock)
	build, err := find(r.Lock)
	if err != nil {
		return nil, err
	}
	if j.On == OnReal {
		o, err := onServers(ctx, s, r, build, j.Seed, j.Speed)
		if err != nil {
			return nil, err
		}
		return &done{History: o.History}, nil
	}
	o, err := Simulate(s, r, build, j.Seed)
	if err != nil {
		return nil, err
	}
	d := &done{History: o.History}
	if j.Twice {
		again, err := Simulate(s, r, build, j.Seed)
		if err != nil {
			return nil, err
		}
		d.Checksum = again.History.Meta.Checksum
	}
	return d, nil
}

func inProcess(ctx context.Context, jobs []json.RawMessage, each func(int, sim.Outcome)) error {
	quietRedis()
	for i, j := range jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := perform(ctx, j, clients.Find)
		if err != nil {
			each(i, sim.Outcome{Report: &sim.Report{Reason: err.Error()}})
			continue
		}
		result, err := json.Marshal(d)
		if err != nil {
			return err
		}
		each(i, sim.Outcome{Result: result})
	}
	return nil
}

// FindRun returns the run with an ID, such as redlock or redlock/too-short.
func (s *Scenario) FindRun(id string) (Section, error) {
	var ids []string
	for _, r := range s.Runs {
		if r.ID() == id {
			return r, nil
		}
		ids = append(ids, r.ID())
	}
	return Section{}, fmt.Errorf("%s: %w", s.File, sim.Unknown("run", id, ids))
}
