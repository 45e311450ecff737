package sim

import (
	"fmt"
	"time"

	"lockstep/sim/history"
)

// trace is a running checksum of everything that the scheduler delivers: FNV-1a with 64 bits, by bytes for text and by words for
// numbers. Their high bits are folded down because a product carries only upwards.
type trace uint64

const fnvPrime = 1099511628211

func newTrace() trace { return 14695981039346656037 }

func (t *trace) String() string { return fmt.Sprintf("%016x", uint64(*t)) }

func (t *trace) num(n uint64) {
	h := (uint64(*t) ^ n) * fnvPrime
	*t = trace(h ^ h>>32)
}

// text feeds a string and its length, so that "ab","c" and "a","bc" differ.
func (t *trace) text(s string) {
	h := uint64(*t)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	*t = trace(h)
	t.num(uint64(len(s)))
}

func (t *trace) timer(at time.Duration, process, what string) {
	t.num(uint64(at))
	t.text(process)
	t.text(what)
}

func (t *trace) event(e *history.Event) {
	t.num(uint64(e.At))
	t.num(uint64(e.Clock))
	t.num(uint64(e.Wall))
	t.num(uint64(e.Until))
	t.num(uint64(e.Sent))
	t.num(uint64(e.ID))
	t.num(uint64(e.Fence))
	t.num(uint64(e.PPM))
	for _, s := range [...]string{e.Process, string(e.Kind), e.Op, e.Lock, e.Lease, e.Key, e.By, e.Owner, e.Value, e.Word, e.Error} {
		t.text(s)
	}
}
