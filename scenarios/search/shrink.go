package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A shrinking reduces a run that violates a property as far as it can while the run violates the same property for the same
// reason, and the references still keep it. Fewer faults come first; then fewer clients, servers and steps; then fewer words and
// rounder numbers.
type shrinking struct {
	Plan    []Perturbation `json:"plan"` // of the calm run
	Failing play.Failing   `json:"failing"`
	// References are the names of the locks that the lock was compared with. One that violates the property under the plan itself
	// does not count.
	References []string `json:"references,omitempty"`
	Runs       int      `json:"runs,omitempty"` // the most runs that it may play; default shrinkingRuns
}

// shrinkingRuns is many times what shrinking usually needs.
const shrinkingRuns = 5000

// run carries out the task.
func (sh *shrinking) run(ctx context.Context, x *explorer, seed uint64, y *Result) {
	s, err := newShrinker(ctx, x, *sh, seed)
	if err != nil {
		y.Refused = err.Error()
		return
	}
	defer func() { // even if a smaller run does not end, and ends the series
		if y.Shrunk, err = s.counterexample(); err != nil {
			y.Refused = err.Error()
		}
	}()
	s.reduce()
}

// shrink returns the smallest run that it finds, as a page to be saved. The error says why there is none: the plan no longer
// violates the property for that reason, or its run proves nothing. If ctx ends, or the limit of runs is reached, the page is the
// smallest so far.
func shrink(ctx context.Context, x *explorer, sh shrinking, seed uint64) (*Counterexample, error) {
	s, err := newShrinker(ctx, x, sh, seed)
	if err != nil {
		return nil, err
	}
	s.reduce()
	return s.counterexample()
}

// A shrinker looks for ever smaller runs.
type shrinker struct {
	shrinking
	ctx         context.Context
	x           *explorer
	calm        *script.Scenario // its run has the lock that the page names
	lock        string           // the lock in its place
	disciplined bool             // the clients of the calm run are disciplined, so those of smaller runs must be too
	played      int              // how many runs were played
	references  []reference      // those that keep the property under the plan
	excused     int              // how many smaller pages were rejected because a reference violates the property there
	excusedBy   []string         // those references
	seen        map[string]bool  // the pages that were tried
	due         map[string]bool  // for pages without faults: whether they do not violate the property
	complete    bool             // all candidates were tried

	// The smallest page so far, and its outcome.
	page    *script.Scenario
	outcome *play.Outcome
	size    size
	beside  int // what else it violates

	last *play.Outcome // the outcome of the last run
}

// A reference is a lock with which the one under test is compared, as a worker plays it.
type reference struct {
	lock  string
	build clients.New
}

// newShrinker plays the run of the plan itself, of which all others are parts.
func newShrinker(ctx context.Context, x *explorer, sh shrinking, seed uint64) (*shrinker, error) {
	x.plan = sh.Plan
	sh.Runs = cmp.Or(sh.Runs, shrinkingRuns)
	s := &shrinker{shrinking: sh, ctx: ctx, x: x, lock: x.calm.Runs[0].Lock, seen: map[string]bool{}, due: map[string]bool{}}
	s.calm = x.calm.Edited(func(page *script.Scenario) {
		run := &page.Runs[0]
		*run = run.With(run.Reference())
		run.Seed, run.Checksum, run.Golden, run.Expect = seed, "", "", nil
		if seed == 1 {
			run.Seed = 0
		}
	})
	if !s.attempt(Perturbed(s.calm, sh.Plan)) {
		return nil, s.refusal()
	}
	s.disciplined = disciplined(s.calm)
	for _, lock := range sh.References {
		build, err := clients.Find(lock)
		if err != nil {
			return nil, err
		}
		if r := (reference{lock, build}); !s.violates(r, s.page) {
			s.references = append(s.references, r)
		}
	}
	return s, nil
}

// reduce looks for smaller runs until there is none.
func (s *shrinker) reduce() {
	s.choose()
	for before := size(nil); slices.Compare(before, s.size) != 0; {
		before = s.size
		for _, ways := range []func(*script.Scenario) []*script.Scenario{
			withoutFault, withoutRepair, withoutClient, withoutServers, withoutStep, withPlainerStep, withUsualTTL, withFirstSeed,
			withRounderNumber, renumbered,
		} {
			for s.smaller(ways) {
			}
		}
	}
	s.complete = !s.exhausted()
}

// exhausted reports whether no more runs may be played.
func (s *shrinker) exhausted() bool { return s.played >= s.Runs || s.ctx.Err() != nil }

// refusal says what is wrong with the run of the plan itself.
func (s *shrinker) refusal() error {
	switch {
	case s.last == nil:
		_, err := Perturbed(s.calm, s.Plan).Checked()
		return fmt.Errorf("the plan does not fit this run: %w", cmp.Or(err, s.ctx.Err()))
	case !slices.Contains(s.last.Failing(), s.Failing):
		return fmt.Errorf("not reproduced: with this plan and seed it is not the case that %s", s.Failing)
	}
	if len(s.last.Result.Unmet) == 0 {
		return fmt.Errorf("the plan is not the cause: without its faults it is still the case that %s", s.Failing)
	}
	return fmt.Errorf("nothing is proved: %s", strings.Join(s.last.Result.Unmet, "; "))
}

// smaller tries the pages that some way of reduction makes of the smallest, and reports whether one of them is smaller. Among
// those of one size it prefers a page that violates nothing else.
func (s *shrinker) smaller(ways func(*script.Scenario) []*script.Scenario) bool {
	found := false
	for _, page := range ways(s.page) {
		if s.attempt(page) {
			found = true
			if s.beside == 0 {
				break
			}
		}
	}
	return found
}

// attempt plays a page, and keeps it if it is smaller than the smallest so far and violates the same property for the same
// reason. It leaves out faults without effect, because with one a run proves nothing.
func (s *shrinker) attempt(page *script.Scenario) bool {
	for {
		checked, err := page.Checked()
		if err != nil || s.disciplined && !disciplined(checked) {
			return false
		}
		page = checked
		if len(s.Plan) > 0 && sizeOf(page)[0] == 0 {
			return false // a run without faults, if the original had some, is a different finding
		}
		order := s.compare(page)
		if order > 0 || order == 0 && s.beside == 0 || s.seen[page.String()] || s.exhausted() {
			return false
		}
		s.seen[page.String()] = true
		s.played++
		o := s.play(page)
		all := o.Failing()
		switch {
		case !slices.Contains(all, s.Failing):
			return false
		case len(o.Result.Unmet) == 0:
			if order == 0 && len(all)-1 >= s.beside || !s.dueToFaults(page) || s.excuses(page) {
				return false
			}
			s.page, s.outcome, s.size, s.beside = page, o, sizeOf(page), len(all)-1
			return true
		}
		without := withoutIdle(page, o)
		if slices.Compare(sizeOf(without), sizeOf(page)) == 0 {
			return false
		}
		page = without
	}
}

// dueToFaults reports whether the faults of a page matter: without them it does not violate the property for the same reason. If
// a setting violates it without faults, for example because a replica is missing that the lock waits for, that is a different
// finding.
func (s *shrinker) dueToFaults(page *script.Scenario) bool {
	if len(s.Plan) == 0 {
		return true // nothing goes wrong in the run anyway
	}
	calm := withoutSteps(page, func(lane script.Lane, step script.Step) bool { return lane.Fault(step) != nil })
	text := calm.String()
	due, known := s.due[text]
	if !known {
		s.played++
		due = !slices.Contains(s.play(calm).Failing(), s.Failing)
		s.due[text] = due
	}
	return due
}

// excuses reports whether a reference violates the property in the run of a page, so that the run says nothing against the lock.
func (s *shrinker) excuses(page *script.Scenario) bool {
	i := slices.IndexFunc(s.references, func(r reference) bool { return s.violates(r, page) })
	if i < 0 {
		return false
	}
	s.excused++
	if by := s.references[i].lock; !slices.Contains(s.excusedBy, by) {
		s.excusedBy = append(s.excusedBy, by)
	}
	return true
}

// violates reports whether a reference violates the property in the run of a page, for whatever reason.
func (s *shrinker) violates(r reference, page *script.Scenario) bool {
	s.played++
	run := page.Runs[0].With(r.lock)
	run.Guests = false
	played := *page
	played.Runs = []script.Section{run}
	return s.x.play(&played, run, r.build, cmp.Or(run.Seed, 1)).Result.Status(s.Failing.Property) == checker.Violated
}

// compare compares the size of a page with that of the smallest.
func (s *shrinker) compare(page *script.Scenario) int {
	if s.page == nil {
		return -1
	}
	return slices.Compare(sizeOf(page), s.size)
}

func (s *shrinker) play(page *script.Scenario) *play.Outcome {
	played := *page
	played.Runs = []script.Section{page.Runs[0].With(s.lock)}
	seed := cmp.Or(page.Runs[0].Seed, 1)
	s.last = s.x.play(&played, played.Runs[0], s.x.build, seed)
	if s.x.played++; s.x.played%canaryEvery == 1 {
		s.x.repeat(&played, s.last, seed)
	}
	return s.last
}

// mostSubsets is how many subsets of one size are tried before perturbations are left out one by one.
const mostSubsets = 150

// choose looks for the smallest subset of the plan that is sufficient.
func (s *shrinker) choose() {
	for n := range len(s.Plan) {
		all := subsets(len(s.Plan), n)
		if len(all) > mostSubsets {
			return
		}
		found := s.smaller(func(*script.Scenario) []*script.Scenario {
			var pages []*script.Scenario
			for _, subset := range all {
				var some []Perturbation
				for _, i := range subset {
					some = append(some, s.Plan[i])
				}
				pages = append(pages, Perturbed(s.calm, some))
			}
			return pages
		})
		if found {
			return
		}
	}
}

// subsets lists the subsets of size k of n numbers, but not many more than mostSubsets.
func subsets(n, k int) [][]int {
	if k == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for last := k - 1; last < n; last++ {
		for _, s := range subsets(last, k-1) {
			if all = append(all, append(s, last)); len(all) > mostSubsets {
				return all
			}
		}
	}
	return all
}

// A size lists what a smaller page has less of, in the order of weight.
type size []int

// sizeOf returns the size of a page with one run.
func sizeOf(s *script.Scenario) size {
	var faults, repairs, clients, steps, words, rough, numbers int
	for _, lane := range s.Lanes {
		for _, step := range lane.Steps {
			words += len(strings.Fields(step.String()))
			for _, n := range numbersOf(step) {
				rough += roughness(n)
			}
			switch f := lane.Fault(step); {
			case f == nil:
				steps += script.Times(step)
			case script.Undoes(f):
				repairs++
			default:
				faults++
			}
		}
		if lane.Process != script.Nemesis {
			clients++
			n, _ := strconv.Atoi(strings.TrimLeft(lane.Process, "abcdefghijklmnopqrstuvwxyz"))
			numbers += n
		}
	}
	r := s.Runs[0]
	ttl := 0
	if s.TTL+r.TTL != 0 {
		ttl = 1
	}
	seed := 0
	if r.Seed > 1 {
		seed = len(strconv.FormatUint(r.Seed, 10))
	}
	return size{faults, repairs, clients, r.Nodes + r.Replicas + r.Sentinels + r.Shards, steps, words, ttl, seed, rough, numbers}
}
