package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lockstep/cmd/fleet/queue"
	"lockstep/reports"
	"lockstep/scenarios/shards"
)

const (
	lookEvery = 300 * time.Millisecond
	// mostLoad is the greatest part of the time that a submitter spends with a round: with many shards there are fewer rounds.
	mostLoad    = 10
	offersEvery = 2 * time.Second
	atOnce      = 16 // commands to the queue
	// probeLimit is how long a first shard is carried out here, to see whether the command is understood at all.
	probeLimit = 2 * time.Second
	showAsides = 5  // set-aside shards that are shown in full
	showLines  = 10 // lines of the output of each
	mostTold   = 50 // ways to fail that are said while the search goes on
)

func newSubmit(f *fleetFlags, name string) *cobra.Command {
	return &cobra.Command{
		Use:   name + " [arguments of lockstep " + name + "]",
		Short: "Carry out lockstep " + name + " on the fleet",
		Long: fmt.Sprintf(`This prints what lockstep %[1]s prints with the same arguments, and has the same exit
status. Workers do the work; they may start and end at any time.

These options belong to fleet. They may stand before or after the word %[1]s. All other
arguments go to lockstep %[1]s unchanged:

  --queue URL       the Redis server, such as redis://USER:PASSWORD@HOST:PORT/DB
  --shards N        split into N shards (default %[2]d). Half a minute for each is a good size
  --out DIR         keep the shards in DIR (default: a temporary directory). Afterwards
                    lockstep merge DIR/shard-* -- --out FOUND saves what they found
  --lockstep PATH   the lockstep program (default: beside this program, or on the PATH)

The results of one shard may take at most %[3]d MB. They are kept in the queue, compressed, for
%[4]d days after the last shard; lockstep fleet forget removes them earlier.

Before a new search is submitted, its first shard is played on this machine for up to two seconds,
to find mistakes in the arguments.

Exit status: that of lockstep %[1]s; 3 also if a shard was set aside because it failed %[5]d times.`,
			name, defaultShards, queue.MostAnswers>>20, int(queue.Kept.Hours()/24), queue.Failures),
		Example: map[string]string{
			"explore": `  lockstep fleet --queue redis://queue.example explore --lock redlock --nodes 5 --bound 2
  lockstep fleet explore --lock single --bound 3 --queue redis://queue.example --shards 500`,
			"matrix": "  lockstep fleet --queue redis://queue.example matrix --guests always",
			"run":    "  lockstep fleet --queue redis://queue.example run --lock redsync,redislock",
		}[name],
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			left, help, err := f.take(args)
			switch {
			case err != nil:
				return err
			case help:
				return c.Help()
			}
			return f.submit(c, append([]string{name}, left...))
		},
	}
}

// submitter waits for a search, and collects its shards.
type submitter struct {
	queue.Search
	q       *queue.Queue
	program program
	store   *store
	log     *progress

	lost    bool            // the queue does not answer
	back    time.Time       // when it answered again
	empty   bool            // there is no worker, and that was said
	met     time.Time       // when there was a worker
	offered time.Time       // when all shards were last offered that nobody works on
	stuck   map[string]bool // tasks that nobody had claimed, though asynq believed them to be under way
	idle    int             // for how many offers shards have waited, though workers are alive and none has a shard of this search
	asides  map[int]queue.Aside
	told    map[string]bool // what shards have found, and was said
	workers int
}

func (f *fleetFlags) submit(c *cobra.Command, command []string) error {
	ctx := c.Context()
	p, err := f.program(ctx)
	if err != nil {
		return err
	}
	q, err := f.open(c)
	if err != nil {
		return err
	}
	defer q.Close()
	s := queue.Search{Build: p.build, Command: command, Of: f.shards}
	st, err := openStore(f.out, s)
	if err != nil {
		return err
	}
	defer st.close()
	w := &submitter{Search: s, q: q, program: p, store: st, log: newProgress(c.ErrOrStderr()), stuck: map[string]bool{}, told: map[string]bool{}}
	err = w.run(ctx)
	w.log.finish()
	if ctx.Err() != nil {
		w.log.say("interrupted; %d of %d shards are done. Workers, if any, go on. Run the same command to continue", st.count(), s.Of)
		return status(exitInput)
	}
	if err != nil {
		if st.count() > 0 {
			w.log.say("%d of %d shards are done, and are kept. Run the same command to continue", st.count(), s.Of)
		}
		return err
	}
	if len(w.asides) > 0 {
		w.report()
		return status(exitInput)
	}
	return p.merge(ctx, st.dirs(), c.OutOrStdout(), c.ErrOrStderr())
}

// run waits until all shards are collected, or set aside.
func (w *submitter) run(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	for {
		start := time.Now()
		over, err := w.round(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !queue.Passing(err):
			return err
		case err != nil && !w.lost:
			w.log.say("%v; trying again", err)
		case err == nil && w.lost:
			w.back = time.Now()
			w.log.say("%s answers again", w.q)
		case over:
			return nil
		}
		w.lost = err != nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(max(lookEvery, mostLoad*time.Since(start)), offersEvery)):
		}
	}
}

// begin submits the search, or joins it.
func (w *submitter) begin(ctx context.Context) error {
	if err := w.q.Join(ctx, w.Search); err != nil {
		return err
	}
	fresh, err := w.q.Begin(ctx, w.Search)
	if err != nil {
		return err
	}
	state, err := w.q.Look(ctx, w.Search)
	if err != nil {
		return err
	}
	for n := range w.store.have {
		state.Done[n] = true
	}
	switch done := len(state.Done); {
	case done == w.Of:
		w.log.say("search %s is complete already", w.ID())
	case done > 0 || !fresh:
		w.log.say("search %s goes on: %d of %d shards are done already", w.ID(), done, w.Of)
	default:
		if err := w.probe(ctx); err != nil {
			if fresh { // nothing is left of it
				w.q.Forget(context.WithoutCancel(ctx), w.Search)
				w.q.Join(context.WithoutCancel(ctx), w.Search)
			}
			return err
		}
		w.log.say("search %s is submitted, in %s", w.ID(), many(w.Of, "shard"))
	}
	n, err := w.q.Retry(ctx, w.Search)
	if n > 0 {
		w.log.say("trying again the shards that were set aside: %d", n)
	}
	return err
}

// probe carries out a shard for a moment. If the command has a mistake, that shows here, and not in each shard on each machine.
func (w *submitter) probe(ctx context.Context) error {
	dir, err := os.MkdirTemp("", roomPattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	short, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	output := &tail{}
	err = w.program.shard(short, w.Search, 1, dir, output)
	switch {
	case err == nil:
		if err := w.store.take(1, dir); err != nil {
			return err
		}
		w.tell(ctx, 1)
		return nil
	case short.Err() != nil || errors.Is(err, queue.ErrTooLarge):
		return ctx.Err()
	case errors.Is(err, errElsewhere):
		why := strings.TrimPrefix(lastLine(output.String()), "lockstep: ")
		return fmt.Errorf("%s; this machine merges the shards of the search, so it needs the go command and the source of Lockstep, as the workers do", reports.Visible(why))
	}
	if text := strings.TrimSpace(output.String()); text != "" {
		w.log.line(text)
		return status(exitInput)
	}
	return fmt.Errorf("lockstep %s: %w", w.Search, err)
}

// round looks at the search once, and does what is to be done. It says whether the search is over.
func (w *submitter) round(ctx context.Context) (over bool, err error) {
	state, err := w.q.Look(ctx, w.Search)
	if err != nil {
		return false, err
	}
	if !state.Known {
		if state, err = w.again(ctx); err != nil {
			return false, err
		}
	}
	if err := w.exchange(ctx, state); err != nil {
		return false, err
	}
	if time.Since(w.offered) >= offersEvery {
		start := time.Now()
		if err := w.offer(ctx, state); err != nil {
			return false, err
		}
		w.offered = time.Now().Add(mostLoad * time.Since(start))
	}
	aside, active := 0, 0
	for n := 1; n <= w.Of; n++ {
		switch {
		case w.store.has(n):
		case state.Aside[n]:
			aside++
		case state.UnderWay(n):
			active++
		}
	}
	w.log.show(w.store.count(), active, aside, w.Of, w.workers)
	if w.store.count()+aside < w.Of {
		return false, nil
	}
	if aside > 0 {
		w.asides, err = w.q.Asides(ctx, w.Search)
	}
	return err == nil, err
}

// again submits a search that the queue does not know any more.
func (w *submitter) again(ctx context.Context) (queue.State, error) {
	switch forgotten, err := w.q.Forgotten(ctx, w.Search); {
	case err != nil:
		return queue.State{}, err
	case forgotten:
		return queue.State{}, fmt.Errorf("search %s was forgotten (lockstep fleet forget)", w.ID())
	}
	if _, err := w.q.Begin(ctx, w.Search); err != nil {
		return queue.State{}, err
	}
	w.log.say("the queue has lost the search; submitting it again; shards kept on this machine: %d", w.store.count())
	w.offered = time.Time{}
	return w.q.Look(ctx, w.Search)
}

// exchange fetches what is done and is not here, and stores what is here and the queue has lost.
func (w *submitter) exchange(ctx context.Context, state queue.State) error {
	var fetch, give []int
	for n := 1; n <= w.Of; n++ {
		switch here := w.store.has(n); {
		case state.Done[n] && !here:
			fetch = append(fetch, n)
		case here && !state.Done[n]:
			give = append(give, n)
		}
	}
	for _, n := range fetch {
		packed, err := w.q.Fetch(ctx, w.Search, n)
		if err != nil {
			return err
		}
		if packed == nil {
			continue
		}
		damaged, err := w.store.put(n, packed)
		if err != nil {
			return err
		}
		if damaged != nil {
			w.log.say("the result of shard %d is damaged in the queue; the shard is played again: %s", n, reports.Visible(damaged.Error()))
			if err := w.q.Undo(ctx, w.Search, n); err != nil {
				return err
			}
			continue
		}
		w.tell(ctx, n)
	}
	for _, n := range give {
		packed, err := queue.Pack(w.store.dir(n))
		if err != nil {
			return err
		}
		if _, err := w.q.Finish(ctx, w.Search, n, "submitter", packed); err != nil {
			return err
		}
		state.Done[n] = true
	}
	return nil
}

// tell prints what a shard that has come in has found, unless it has been printed for another shard.
func (w *submitter) tell(ctx context.Context, shard int) {
	m, err := shards.Read(ctx, w.store.dir(shard))
	if err != nil {
		return // the merge says so
	}
	for _, found := range m.Found {
		if !w.told[found] && len(w.told) < mostTold {
			w.told[found] = true
			w.log.say("shard %d found: %s", shard, reports.Printable(found, 160))
		}
	}
}

// offer sees to it that each shard which is not done can be found by a worker.
func (w *submitter) offer(ctx context.Context, state queue.State) error {
	if _, err := w.q.Begin(ctx, w.Search); err != nil { // prolongs its life
		return err
	}
	all, err := w.q.Workers(ctx)
	if err != nil {
		return err
	}
	active, err := w.q.Active(ctx, w.Search)
	if err != nil {
		return err
	}
	w.greet(all)
	if w.idle++; w.workers == 0 || state.AnyUnderWay() {
		w.idle = 0
	}
	// Then asynq may have lost tasks in a way that does not show. If the workers are busy with another search, a second task for a shard does no
	// harm: whoever gets it later drops it. There are fewer and fewer of those, after 4, 8, 16 offers.
	again := w.idle >= 4 && w.idle&(w.idle-1) == 0
	var mu sync.Mutex
	stuck := map[string]bool{}
	err = parallel(w.Of, func(i int) error {
		n := i + 1
		if state.Done[n] || w.store.has(n) || state.Aside[n] || state.UnderWay(n) {
			return nil
		}
		if attempt := state.Claim[n]; attempt != "" {
			if time.Since(w.back) < queue.Alive { // the workers could not give signs of life
				return nil
			}
			return w.q.Reap(ctx, w.Search, n, attempt) // it is offered in the next round
		}
		task, waits, err := w.q.Offer(ctx, w.Search, n, state.Next[n])
		if err == nil && waits && again {
			return w.q.Lose(ctx, w.Search, n, state.Next[n])
		}
		if err != nil || !waits || !active[task] {
			return err
		}
		// A worker claims a shard as soon as asynq has given it out. If nobody has done so between two rounds, nobody will.
		if w.stuck[task] {
			return w.q.Lose(ctx, w.Search, n, state.Next[n])
		}
		mu.Lock()
		stuck[task] = true
		mu.Unlock()
		return nil
	})
	w.stuck = stuck
	return err
}

// parallel calls a function with all numbers below n, some at once, and returns an error of one of them.
func parallel(n int, f func(int) error) error {
	var first error
	var once sync.Once
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return first
}

// greet counts the workers that can play the search, and says so if there is none.
func (w *submitter) greet(all []queue.Worker) {
	w.workers = 0
	unfit := 0
	others := map[string]int{}
	for _, one := range all {
		switch {
		case one.Build != w.Build:
			others[one.Build]++
		case slices.Contains(one.Unfit, w.ID()):
			unfit++
		default:
			w.workers++
		}
	}
	if w.workers > 0 || w.store.count() == w.Of {
		w.empty, w.met = false, time.Now()
		return
	}
	if w.empty || time.Since(w.met) < queue.Alive { // a queue that has lost its memory has lost them, too
		return
	}
	w.empty = true
	if unfit > 0 {
		w.log.say("no worker can play this search, because it needs WebAssembly: start a worker on a machine that has the go command and the source of Lockstep")
		return
	}
	if len(others) > 0 {
		build := reports.Visible(slices.Sorted(maps.Keys(others))[0])
		w.log.say("no worker has this build, %s; workers have %s: install the same lockstep everywhere", queue.ShortBuild(w.Build), queue.ShortBuild(build))
		return
	}
	w.log.say("no worker is alive; start some: lockstep fleet work --queue %s", w.q)
}

// report prints which shards are set aside, and why.
func (w *submitter) report() {
	// Often all have failed in the same way.
	groups := map[queue.Aside][]int{}
	for n, a := range w.asides {
		a.Worker = ""
		groups[a] = append(groups[a], n)
	}
	var all []queue.Aside
	for a, shards := range groups {
		slices.Sort(shards)
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b queue.Aside) int { return groups[a][0] - groups[b][0] })
	for i, a := range all {
		if i == showAsides {
			w.log.say("more shards were set aside: lockstep fleet status --queue %s", w.q)
			break
		}
		shards := groups[a]
		which := "shard " + strconv.Itoa(shards[0]) + " of " + strconv.Itoa(w.Of) + " was"
		if len(shards) > 1 {
			which = "shards " + strings.Trim(strings.ReplaceAll(fmt.Sprint(shards), " ", ", "), "[]") + " of " + strconv.Itoa(w.Of) + " were"
		}
		w.log.say("%s set aside: %s", which, reports.Visible(a.Why))
		w.log.line(indented(a.Output, showLines))
	}
	w.log.say("%d of %d shards are done, and %d are set aside, so there is no result. Run the same command to try them again", w.store.count(), w.Of, len(w.asides))
}

// indented returns the last lines of a text, indented, and without anything that a terminal would obey.
func indented(text string, n int) string {
	text = reports.VisibleLines(strings.TrimSpace(text))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-n):]
	return "  " + strings.Join(lines, "\n  ")
}
