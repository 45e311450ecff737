package search

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A reduction is a way to make a page with one run smaller. It returns candidate pages; those that are not valid are rejected by
// the parser.

// withoutSteps returns the page without the steps for which drop is true, and without steps that undo a fault on a target that
// has no fault any more.
func withoutSteps(s *script.Scenario, drop func(script.Lane, script.Step) bool) *script.Scenario {
	return withoutPlaces(s, func(at play.Place, lane script.Lane, step script.Step) bool { return drop(lane, step) })
}

// withoutPlaces is withoutSteps with the place of each step, because two steps may print alike.
func withoutPlaces(s *script.Scenario, drop func(play.Place, script.Lane, script.Step) bool) *script.Scenario {
	return s.Edited(func(page *script.Scenario) {
		for i, lane := range page.Lanes {
			var left []script.Step
			for j, step := range lane.Steps {
				if !drop(play.Place{Process: lane.Process, Step: j + 1}, lane, step) {
					left = append(left, step)
				}
			}
			page.Lanes[i].Steps = left
		}
		acted := map[string]bool{}
		for _, lane := range page.Lanes {
			for _, step := range lane.Steps {
				if f := lane.Fault(step); f != nil && !script.Undoes(f) {
					acted[f.Target()] = true
				}
			}
		}
		for i, lane := range page.Lanes {
			page.Lanes[i].Steps = slices.DeleteFunc(lane.Steps, func(step script.Step) bool {
				f := lane.Fault(step)
				return f != nil && script.Undoes(f) && f.Target() != "" && !acted[f.Target()]
			})
		}
	})
}

// withoutIdle returns the page without the faults that had no effect in its run.
func withoutIdle(s *script.Scenario, o *play.Outcome) *script.Scenario {
	effects := o.Effects()
	return withoutPlaces(s, func(at play.Place, lane script.Lane, step script.Step) bool {
		return lane.Fault(step) != nil && !effects[at]
	})
}

// withoutAt returns the page without one step.
func withoutAt(s *script.Scenario, i, j int) *script.Scenario {
	gone := play.Place{Process: s.Lanes[i].Process, Step: j + 1}
	return withoutPlaces(s, func(at play.Place, _ script.Lane, _ script.Step) bool { return at == gone })
}

// withStep returns the page with one step replaced.
func withStep(s *script.Scenario, i, j int, step script.Step) *script.Scenario {
	return s.Edited(func(page *script.Scenario) { page.Lanes[i].Steps[j] = step })
}

// withoutFault removes one fault, and what undoes it.
func withoutFault(s *script.Scenario) (pages []*script.Scenario) {
	s.EachStep(func(i, j int, lane script.Lane, step script.Step) {
		if f := lane.Fault(step); f != nil && !script.Undoes(f) {
			pages = append(pages, withoutAt(s, i, j))
		}
	})
	return pages
}

// withoutRepair removes a step that undoes a fault: in the end everything heals anyway.
func withoutRepair(s *script.Scenario) (pages []*script.Scenario) {
	s.EachStep(func(i, j int, lane script.Lane, step script.Step) {
		if f := lane.Fault(step); f != nil && script.Undoes(f) {
			pages = append(pages, withoutAt(s, i, j))
		}
	})
	return pages
}

// withoutClient removes a client, and the faults that affect it.
func withoutClient(s *script.Scenario) (pages []*script.Scenario) {
	for _, gone := range s.Lanes {
		if gone.Process != script.Nemesis {
			pages = append(pages, withoutSteps(s, func(lane script.Lane, step script.Step) bool {
				return lane.Process == gone.Process || lane.Process == script.Nemesis && about(step, gone.Process)
			}))
		}
	}
	return pages
}

// processName matches the names of processes in the printed form of a step.
var processName = regexp.MustCompile(`\b[a-z]+[0-9]+\b`)

// about reports whether a step of the nemesis names a process.
func about(step script.Step, process string) bool {
	return slices.Contains(processName.FindAllString(step.String(), -1), process)
}

// leastNodes is how many lock nodes are left if there were more: with fewer, one node is a majority, or all are needed for one,
// and the lock fails for other reasons.
const leastNodes = 3

// withoutServers removes a server, or two lock nodes: a majority of five is three, of four also three, of three it is two. It
// also removes the faults that affect these servers, and renumbers the servers after them.
func withoutServers(s *script.Scenario) (pages []*script.Scenario) {
	r := s.Runs[0]
	if r.Nodes > leastNodes+1 {
		for i := range r.Nodes {
			for j := range i {
				pages = append(pages, withoutServer(withoutServer(s, 'n', i+1), 'n', j+1))
			}
		}
	}
	if r.Nodes > leastNodes {
		for i := range r.Nodes {
			pages = append(pages, withoutServer(s, 'n', i+1))
		}
	}
	if r.Replicas > 1 { // without any replica it is a different lock
		for i := range r.Replicas {
			pages = append(pages, withoutServer(s, 'r', i+1))
		}
	}
	all := s
	for i := r.Sentinels; i > 0; i-- {
		all = withoutServer(all, 's', i)
		pages = append(pages, all)
	}
	return pages
}

// withoutServer removes one server of a kind, by its number.
func withoutServer(s *script.Scenario, kind byte, number int) *script.Scenario {
	name := func(n int) string { return string(kind) + strconv.Itoa(n) }
	names := map[string]string{}
	for n := number + 1; n <= 9; n++ {
		names[name(n)] = name(n - 1)
	}
	page := withoutSteps(s, func(lane script.Lane, step script.Step) bool {
		return lane.Process == script.Nemesis && about(step, name(number))
	})
	return renamed(page, names).Edited(func(page *script.Scenario) {
		r := &page.Runs[0]
		switch kind {
		case 'n':
			r.Nodes--
		case 'r':
			r.Replicas--
		case 's':
			r.Sentinels--
		}
	})
}

// renamed returns the page with some processes renamed.
func renamed(s *script.Scenario, names map[string]string) *script.Scenario {
	rename := func(text string) string {
		return processName.ReplaceAllStringFunc(text, func(name string) string { return cmp.Or(names[name], name) })
	}
	return s.Edited(func(page *script.Scenario) {
		for i, lane := range page.Lanes {
			page.Lanes[i].Process = rename(lane.Process)
			for j, step := range lane.Steps {
				if lane.Process == script.Nemesis {
					page.Lanes[i].Steps[j] = readBack(script.ParseStep(script.Nemesis, rename(step.String())))
				}
			}
		}
		for i, m := range page.Musts {
			page.Musts[i] = readBack(checker.ParseMust(rename(m.String())))
		}
	})
}

// readBack returns x: parsing printed text cannot fail, even with other names of the same kind.
func readBack[T any](x T, err error) T {
	if err != nil {
		panic("scenarios: " + err.Error())
	}
	return x
}

// renumbered numbers the clients from 1 on.
func renumbered(s *script.Scenario) []*script.Scenario {
	names := map[string]string{}
	for _, lane := range s.Lanes {
		if lane.Process != script.Nemesis {
			names[lane.Process] = fmt.Sprintf("c%d", len(names)+1)
		}
	}
	return []*script.Scenario{renamed(s, names)}
}

// waitsIn reports whether the lane begins with a wait.
func waitsIn(l script.Lane) bool {
	_, waits := l.Steps[0].(script.Until)
	return waits
}

// withoutStep removes a step of a client, or all steps from it on, or repeats it less often. It keeps the wait at the beginning
// of a lane if another lane has none: without it, the order of the clients would be drawn in simulation, and random on real
// servers.
func withoutStep(s *script.Scenario) (pages []*script.Scenario) {
	s.EachStep(func(i, j int, lane script.Lane, step script.Step) {
		if lane.Process == script.Nemesis || lane.Fault(step) != nil {
			return
		}
		if j == 0 && waitsIn(lane) && slices.ContainsFunc(s.Lanes, func(l script.Lane) bool { return l.Process != script.Nemesis && !waitsIn(l) }) {
			return
		}
		pages = append(pages,
			s.Edited(func(page *script.Scenario) { page.Lanes[i].Steps = page.Lanes[i].Steps[:j] }),
			withoutAt(s, i, j))
		if n := script.Times(step); n > 1 {
			pages = append(pages, withStep(s, i, j, script.Once(step)))
			if n > 3 {
				pages = append(pages, withStep(s, i, j, script.Repeat{N: n / 2, Step: script.Once(step)}))
			}
			pages = append(pages, withStep(s, i, j, script.Repeat{N: n - 1, Step: script.Once(step)}))
		}
	})
	return pages
}

// withPlainerStep simplifies one step.
func withPlainerStep(s *script.Scenario) (pages []*script.Scenario) {
	s.EachStep(func(i, j int, _ script.Lane, step script.Step) {
		for _, plainer := range plainerSteps(step) {
			pages = append(pages, withStep(s, i, j, plainer))
		}
	})
	return pages
}

// plainerSteps lists simpler variants of a step, the simplest first.
func plainerSteps(step script.Step) (all []script.Step) {
	switch step := step.(type) {
	case script.Acquire:
		all = append(all, script.Acquire{}, script.Acquire{Within: step.Within}, script.Acquire{Within: step.Within, Every: step.Every}, script.Acquire{TTL: step.TTL})
	case script.Increment:
		all = append(all, script.Increment{})
	case script.Extend:
		all = append(all, script.Extend{})
	case script.Release:
		all = append(all, script.Release{})
	case script.Write:
		all = append(all, script.Write{Value: step.Value})
	case script.AtStart:
		for _, f := range plainerFaults(step.Fault) {
			all = append(all, script.AtStart{Fault: f})
		}
	case script.At:
		all = append(all, script.AtStart{Fault: step.Fault})
		for _, f := range plainerFaults(step.Fault) {
			all = append(all, script.At{Time: step.Time, Fault: f})
		}
	case script.When:
		all = append(all, script.AtStart{Fault: step.Fault})
		first, now := step, step
		first.Event.Nth, now.After = 0, 0
		all = append(all, first, now)
		for _, f := range plainerFaults(step.Fault) {
			all = append(all, script.When{Event: step.Event, After: step.After, Fault: f})
		}
	}
	return all
}

// plainerFaults lists simpler variants of a fault.
func plainerFaults(f history.Fault) []history.Fault {
	switch f := f.(type) {
	case history.Crash:
		f.Power = false
		return []history.Fault{f}
	case history.Restart:
		f.Empty = false
		return []history.Fault{f}
	case history.Chosen:
		f.Nth = 0
		return []history.Fault{f}
	}
	return nil
}

// withUsualTTL sets the TTL to its default. It scales durations that are comparable with a lease; shorter ones may be unrelated
// to it.
func withUsualTTL(s *script.Scenario) []*script.Scenario {
	ttl := s.Resolve(s.Runs[0]).TTL
	usual := func(least time.Duration) *script.Scenario {
		return s.Edited(func(page *script.Scenario) {
			page.TTL, page.Runs[0].TTL = 0, 0
			page.EachStep(func(i, j int, _ script.Lane, step script.Step) {
				page.Lanes[i].Steps[j] = script.ScaleStep(step, func(d time.Duration) time.Duration {
					if d.Abs() < least {
						return d
					}
					return time.Duration(float64(d) * float64(script.DefaultTTL) / float64(ttl)).Round(time.Microsecond)
				})
			})
		})
	}
	return []*script.Scenario{usual(0), usual(ttl / 10)}
}

// withFirstSeed replaces the seed by one of the first.
func withFirstSeed(s *script.Scenario) (pages []*script.Scenario) {
	for seed := range uint64(6) {
		if seed != 1 { // this is the default
			pages = append(pages, s.Edited(func(page *script.Scenario) { page.Runs[0].Seed = seed }))
		}
	}
	return pages
}

// withRounderNumber makes a number rounder, everywhere or in one place.
func withRounderNumber(s *script.Scenario) (pages []*script.Scenario) {
	var distinct []int64
	s.EachStep(func(_, _ int, _ script.Lane, step script.Step) {
		for _, n := range numbersOf(step) {
			if !slices.Contains(distinct, n) {
				distinct = append(distinct, n)
			}
		}
	})
	for _, n := range distinct {
		for _, r := range rounder(n) {
			pages = append(pages, s.Edited(func(page *script.Scenario) {
				page.EachStep(func(i, j int, _ script.Lane, step script.Step) {
					for k, m := range numbersOf(step) {
						if m == n {
							step = withNumber(step, k, r)
						}
					}
					page.Lanes[i].Steps[j] = step
				})
			}))
		}
	}
	s.EachStep(func(i, j int, _ script.Lane, step script.Step) {
		for k, n := range numbersOf(step) {
			for _, r := range rounder(n) {
				pages = append(pages, withStep(s, i, j, withNumber(step, k, r)))
			}
		}
	})
	return pages
}

// numbersOf lists the numbers of a step that can be changed: its durations, in nanoseconds, and its drift, in ppm.
func numbersOf(step script.Step) []int64 {
	if d, ok := script.FaultOf(step).(history.Drift); ok && d.PPM != 0 {
		return []int64{d.PPM}
	}
	var all []int64
	script.ScaleStep(step, func(d time.Duration) time.Duration {
		all = append(all, int64(d))
		return d
	})
	return all
}

// withNumber returns the step with number k of numbersOf replaced.
func withNumber(step script.Step, k int, n int64) script.Step {
	if d, ok := script.FaultOf(step).(history.Drift); ok {
		return script.WithFault(step, func(history.Fault) history.Fault { return history.Drift{Process: d.Process, PPM: n} })
	}
	return script.ScaleStep(step, func(d time.Duration) time.Duration {
		if k--; k == -1 {
			return time.Duration(n)
		}
		return d
	})
}

// roughness measures how far a number is from being round: 1, 2 and 5 followed by zeros are the roundest, then come other numbers
// with one digit, and so on. Fractions of a second are a little rougher.
func roughness(n int64) int {
	if n == 0 {
		return 0
	}
	rough := 0
	if n%int64(time.Second) != 0 {
		rough = 1
	}
	for n%10 == 0 {
		n /= 10
	}
	switch n {
	case 1, 2, 5, -1, -2, -5:
		return rough
	}
	for ; n != 0; n /= 10 {
		rough++
	}
	return rough
}

// rounder lists rounder numbers near n, the roundest first, then the nearest.
func rounder(n int64) []int64 {
	sign := int64(1)
	if n < 0 {
		sign, n = -1, -n
	}
	near := func(r int64) bool { return 2*r >= n && 2*n >= r }
	all := []int64{int64(time.Second)} // instead of a short time, a second may do
	for unit := int64(1); unit <= 2*n; unit *= 10 {
		for digit := int64(1); digit < 10; digit++ {
			if r := digit * unit; near(r) {
				all = append(all, r)
			}
		}
		if down := n / unit * unit; down > 0 {
			all = append(all, down)
		}
	}
	distance := func(r int64) int64 { return max(r-n, n-r) }
	slices.SortStableFunc(all, func(a, b int64) int {
		return cmp.Or(cmp.Compare(roughness(a), roughness(b)), cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
	all = slices.DeleteFunc(slices.Compact(all), func(r int64) bool { return roughness(r) >= roughness(n) })
	for i := range all {
		all[i] *= sign
	}
	return all
}

// disciplined reports whether each client uses its lock as it should: when it uses the resource, it has asked for the lock, and
// not released it; it does not sleep through its lease; it enters before it writes if that is what protects the resource; and it
// reads what it updates. A run in which a client does not proves nothing against the lock.
func disciplined(s *script.Scenario) bool {
	r := s.Resolve(s.Runs[0])
	for _, lane := range r.Lanes {
		var asked, entered, read bool
		slept, lasts := time.Duration(0), r.TTL
		for _, step := range lane.Steps {
			switch step := script.Once(step).(type) {
			case script.Acquire:
				asked, entered, read, slept, lasts = true, false, false, 0, r.TTL
			case script.Release:
				asked = asked && (step.Oldest || step.Again) // it may have a newer lease
			case script.Enter:
				entered = true
			case script.Read:
				read = asked
			case script.Extend:
				slept, lasts = 0, cmp.Or(step.TTL, r.TTL)
			case script.Sleep:
				if slept += step.For; asked && slept >= lasts {
					return false
				}
			case script.Update:
				if !read {
					return false
				}
			case script.Write:
				if !asked || r.Resource == script.CheckAndSet && !entered && !step.Blind {
					return false
				}
			}
		}
	}
	return true
}
