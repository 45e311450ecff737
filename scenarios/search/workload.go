package search

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Workload is what each client does in the calm run of a [Shape]. In all of them the clients start shortly one after the other and
// contend for the lock, and a client writes right after it has acquired the lock and again before it releases it.
type Workload string

// The workloads. A perturbation shows a mistake only if the calm run does what the mistake is about. So each workload is there
// for other mistakes.
const (
	// Once has each client acquire the lock once and work for three tenths of the TTL. Its TTL of 10 s is longer than the timeouts of
	// the client library: a late reply is noticed while the lease lasts.
	Once Workload = "once"
	// Again has each client acquire the lock twice, and work for four tenths of the TTL, which is longer than the timeouts of the client
	// library. It is for messages of one lease that arrive during the next one of the same client, and for what a client remembers of a fault.
	Again Workload = "again"
	// Short has each client acquire the lock twice, too, and try often. Its TTL of 1.5 s is shorter than the timeouts of the client
	// library, and not a whole number of seconds. It is for attempts that leave something behind for the next one, and for locks
	// that round times to seconds.
	Short Workload = "short"
	// Late has each client extend its lease late, after eight tenths of the TTL, and work beyond the end that the lease had before. It
	// is for locks that extend.
	Late Workload = "late"
	// Beyond has each client work for longer than the TTL, and check its lease before the last write. It is for locks that renew their
	// leases by themselves.
	Beyond Workload = "beyond"
	// Resize has every other client extend its lease to twice the TTL, and then work for longer than one TTL; the others make their leases
	// shorter, and work on for less than what is left. It is for locks that extend by another TTL than that with which they acquired.
	Resize Workload = "resize"
)

// Workloads returns all workloads.
func Workloads() []Workload { return []Workload{Once, Again, Short, Late, Beyond, Resize} }

// FindWorkload returns the workload with a name; "" stands for Once.
func FindWorkload(name string) (Workload, error) {
	if name == "" {
		return Once, nil
	}
	if !slices.Contains(Workloads(), Workload(name)) {
		return "", history.Unknown("workload", name, script.WordsOf(Workloads()))
	}
	return Workload(name), nil
}

// title is the end of the sentence that says what clients do: they contend.
func (w Workload) title() string {
	switch w {
	case Again:
		return ", twice each"
	case Short:
		return ", twice each, with a short TTL"
	case Late:
		return ", and extend their leases late"
	case Beyond:
		return ", and work for longer than the TTL"
	case Resize:
		return ", and extend their leases by other TTLs"
	}
	return ""
}

// ttl is the TTL of the workload's calm run, unless the shape says otherwise.
func (w Workload) ttl() time.Duration {
	if w == Short {
		return 3 * time.Second / 2
	}
	return script.DefaultTTL
}

// every is how often a client tries. By default there are tries at the beginning of another client's lease, in the middle of it, and
// right after the end of a lease that was never released.
func (w Workload) every(ttl time.Duration) time.Duration {
	switch w {
	case Again:
		return ttl / 10
	case Short:
		return ttl / 50
	}
	return ttl / 4
}

// times is how often a client acquires the lock.
func (w Workload) times() int {
	if w == Again || w == Short {
		return 2
	}
	return 1
}

// usual is how long a client works under its lease, unless the shape says otherwise.
func (w Workload) usual(ttl time.Duration) time.Duration {
	switch w {
	case Again: // so long that what arrives a TTL late arrives in the middle of the next lease
		return 4 * ttl / 10
	case Late, Beyond:
		return 12 * ttl / 10
	case Resize:
		return 15 * ttl / 10
	}
	return 3 * ttl / 10
}

// work returns the steps of client number i, from 0, between its first write and its last: so much work. If extend is set, it extends its
// lease.
func (w Workload) work(i int, ttl, work time.Duration, extend bool) (steps []script.Step) {
	work = cmp.Or(work, w.usual(ttl))
	late := 8 * ttl / 10
	switch {
	case w == Resize && i%2 == 0:
		before := min(3*ttl/10, work/2)
		return []script.Step{script.Sleep{For: before}, script.Extend{TTL: 2 * ttl}, script.Sleep{For: work - before}, script.Check{}}
	case w == Resize:
		return []script.Step{script.Sleep{For: ttl / 10}, script.Extend{TTL: ttl / 4}, script.Sleep{For: ttl / 10}}
	case w == Late && work > late:
		return []script.Step{script.Sleep{For: late}, script.Extend{}, script.Sleep{For: work - late}, script.Check{}}
	case extend || w == Late:
		steps = append(steps, script.Extend{})
	}
	steps = append(steps, script.Sleep{For: work})
	if w == Beyond {
		steps = append(steps, script.Check{})
	}
	return steps
}

// Suits reports whether a workload suits a lock of the literature. Extensions suit only a lock with a variant that extends, and
// work beyond the TTL only a lock that renews.
func (w Workload) Suits(lock string) bool {
	switch w {
	case Late, Resize:
		_, err := clients.Find(strings.TrimSuffix(lock, "-extend") + "-extend")
		return err == nil
	case Beyond:
		return strings.HasPrefix(lock, "watchdog")
	}
	return true
}

// Each returns a copy of the shape for each workload that suits at least one of the locks, which are from the literature. If the
// shape has a workload already, Each returns only the shape.
func (s Shape) Each(locks ...string) (all []Shape) {
	if s.Workload != "" {
		return []Shape{s}
	}
	for _, s.Workload = range Workloads() {
		if slices.ContainsFunc(locks, s.Workload.Suits) {
			all = append(all, s)
		}
	}
	return all
}
