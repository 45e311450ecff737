//go:build unix

package main

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cmd/fleet/queue"
)

// costs are what the queue costs: how long the server computes, and how long a client waits for an answer on an idle machine.
type costs struct {
	offer, give, claim, finish cost // for each shard; give is what asynq does to give it out and to forget it
	idle                       time.Duration
	// idle is how long the server computes, each second, for a worker that has nothing to do.
}

type cost struct{ server, client time.Duration }

// How many workers does the queue bear? The costs are measured on a real server, with the code that the fleet uses. Then a simulation
// has up to ten thousand workers, each on a machine of its own, and one server that does one thing after the other.
func TestSaturation(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for half a minute")
	}
	c := measure(t)
	t.Logf("server/client: offer %v/%v, give out and forget %v/%v, claim %v/%v, finish %v/%v; an idle worker %v a second",
		c.offer.server, c.offer.client, c.give.server, c.give.client, c.claim.server, c.claim.client, c.finish.server, c.finish.client, c.idle)
	var b strings.Builder
	fmt.Fprintf(&b, "\n| workers | server busy | mean wait | 99 %% wait less than | shards a minute |\n|---|---|---|---|---|\n")
	for _, n := range []int{10, 100, 1000, 2000, 5000, 10_000, 20_000, 50_000} {
		r := simulate(c, n, time.Minute)
		fmt.Fprintf(&b, "| %d | %.1f %% | %v | %v | %.0f |\n", n, 100*r.busy, r.mean.Round(time.Microsecond), r.most.Round(time.Microsecond), r.shards)
		if n == 1000 && (r.busy > 0.5 || r.shards < 950) {
			t.Errorf("1000 workers with shards of a minute: the server is busy for %.0f %% of the time, and they do %.0f shards a minute", 100*r.busy, r.shards)
		}
	}
	t.Log(b.String())
	// From here on the queue cannot keep up: the reciprocal of what one worker costs.
	each := c.idle.Seconds() + (c.offer.server+c.give.server+c.claim.server+c.finish.server).Seconds()/60
	t.Logf("saturated from %.0f workers", 1/each)
}

func measure(t *testing.T) costs {
	r := startRedis(t, "--appendonly", "no")
	info := r.client()
	cpu := func() (sum time.Duration) {
		for line := range strings.Lines(info.Info(t.Context(), "cpu").Val()) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_sys_main_thread" || name == "used_cpu_user_main_thread" {
				seconds, _ := strconv.ParseFloat(value, 64)
				sum += time.Duration(seconds * float64(time.Second))
			}
		}
		return sum
	}
	server, err := queue.ParseServer(r.url(), "")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *queue.Queue {
		q, err := queue.Open(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	q := open()
	s := queue.Search{Build: "measured", Command: []string{"explore"}, Of: 5000}
	if _, err := q.Begin(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	each := func(f func(n int) error) cost {
		begin, before := time.Now(), cpu()
		for n := 1; n <= s.Of; n++ {
			if err := f(n); err != nil {
				t.Fatal(err)
			}
		}
		return cost{(cpu() - before) / time.Duration(s.Of), time.Since(begin) / time.Duration(s.Of)}
	}
	var c costs
	c.offer = each(func(n int) error { _, _, err := q.Offer(t.Context(), s, n, 0); return err })
	c.claim = each(func(n int) error {
		_, _, err := q.Claim(t.Context(), s.ID(), n, queue.NewAttempt("w"))
		return err
	})
	packed := make([]byte, 20<<10) // a shard of a thousand answers
	c.finish = each(func(n int) error {
		_, err := q.Finish(t.Context(), s, n, "w", packed)
		return err
	})

	var given atomic.Int32
	done := make(chan struct{})
	begin, before := time.Now(), cpu()
	_, end, err := q.Serve(s.Build, 1, func(string, int) {
		if given.Add(1) == int32(s.Of) {
			close(done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	c.give = cost{(cpu() - before) / time.Duration(s.Of), time.Since(begin) / time.Duration(s.Of)}
	end()
	q.Close()

	// Many workers that have nothing to do.
	const crew, seconds = 200, 15
	ctx, cancel := context.WithCancel(t.Context())
	var ends []func()
	var signs sync.WaitGroup
	for i := range crew {
		q := open()
		w := queue.Worker{ID: strconv.Itoa(i), Build: "idle", Slots: 1}
		_, end, err := q.Serve(w.Build, 1, func(string, int) {})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, func() { end(); q.Close() })
		signs.Go(func() {
			for ctx.Err() == nil {
				q.SignOfLife(ctx, w)
				select {
				case <-ctx.Done():
				case <-time.After(queue.Sign):
				}
			}
		})
	}
	time.Sleep(3 * time.Second)
	before, begin = cpu(), time.Now()
	time.Sleep(seconds * time.Second)
	c.idle = time.Duration(float64(cpu()-before) / time.Since(begin).Seconds() / crew)
	cancel()
	signs.Wait()
	var all sync.WaitGroup
	for _, end := range ends {
		all.Go(end)
	}
	all.Wait()
	return c
}

// backgroundEvery is how often a worker asks the server for something while it works or waits, counting all that asynq does, too.
const backgroundEvery = 400 * time.Millisecond

// An arrival is a request of a worker.
type arrival struct {
	at     time.Duration
	worker int // -1-w for background requests
}

type arrivals []arrival

func (a arrivals) Len() int           { return len(a) }
func (a arrivals) Less(i, j int) bool { return a[i].at < a[j].at }
func (a arrivals) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)        { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

type load struct {
	busy       float64
	mean, most time.Duration
	shards     float64 // a minute
}

// simulate has workers that carry out shards, each between a half and one and a half of a duration. The server answers one request
// after the other. The first minutes do not count.
func simulate(c costs, workers int, shard time.Duration) load {
	random := rand.New(rand.NewPCG(1, uint64(workers)))
	between := func(d time.Duration) time.Duration { return d/2 + time.Duration(random.Int64N(int64(d))) }
	perShard := c.offer.server + c.give.server + c.claim.server + c.finish.server
	away := max(0, c.offer.client+c.give.client+c.claim.client+c.finish.client-perShard) // round trips, besides what the server computes
	background := time.Duration(float64(c.idle) * backgroundEvery.Seconds())
	var queue arrivals
	for w := range workers {
		queue = append(queue, arrival{time.Duration(random.Int64N(int64(shard))), w}, arrival{time.Duration(random.Int64N(int64(backgroundEvery))), -1 - w})
	}
	heap.Init(&queue)
	warm, end := 2*shard, 4*shard
	var free, busy time.Duration
	var done int
	var waits []time.Duration
	var sum time.Duration
	var asked int
	for queue[0].at < end {
		a := heap.Pop(&queue).(arrival)
		service := background
		if a.worker >= 0 {
			service = perShard
		}
		start := max(a.at, free)
		free = start + service
		if a.at >= warm {
			busy += service
			sum += start - a.at
			asked++
			if asked%16 == 0 {
				waits = append(waits, start-a.at)
			}
			if a.worker >= 0 {
				done++
			}
		}
		if a.worker >= 0 {
			a.at = free + away + between(shard)
		} else {
			a.at = free + between(backgroundEvery)
		}
		heap.Push(&queue, a)
	}
	slices.Sort(waits)
	measured := end - warm
	return load{min(1, busy.Seconds()/measured.Seconds()), sum / time.Duration(asked), waits[len(waits)*99/100], float64(done) / measured.Minutes()}
}
