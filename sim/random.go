package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Rand returns the random stream for one purpose and owner under a seed. Streams are independent: more or fewer draws from one do
// not change another, so removing a fault does not change the rest of a run.
func Rand(seed uint64, purpose, owner string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, key(purpose, owner)))
}

func key(purpose, owner string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(owner))
	return h.Sum64()
}

// draw returns a number below n for message number i of a keyed stream: splitmix64 (steele2014), which has no state, so that a
// missing message changes no other number.
func draw(seed, key, i, n uint64) uint64 {
	z := seed ^ key + i*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % n
}

// latency is the one-way delay of message number i on a link. It ends in an odd nanosecond, so that deliveries do not
// coincide with the round-numbered timers of libraries.
func (l Latency) draw(seed, key, i uint64) time.Duration {
	d := l.Min
	if l.Max > l.Min {
		d += time.Duration(draw(seed, key, i, uint64(l.Max-l.Min)))
	}
	return d | 1
}
