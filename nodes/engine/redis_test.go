package engine

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/sim/history"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// testClock is a wall clock that tests set.
type testClock struct{ time.Time }

func (c *testClock) now() time.Time          { return c.Time }
func (c *testClock) advance(d time.Duration) { c.Time = c.Add(d) }

func newNode(t testing.TB) (*Redis, *testClock) {
	clock := &testClock{start}
	r := NewRedis(clock.now)
	t.Cleanup(r.Close)
	return r, clock
}

func (s *Session) Do(args ...string) string {
	return string(s.Feed(redistest.AppendCommand(nil, args...)))
}

func TestDeadlineIsAliveToItsLastMillisecond(t *testing.T) {
	r, clock := newNode(t)
	s := r.Connect("c1")
	clock.advance(700 * time.Microsecond)
	redistest.Expect(t, s, "SET k v PX 1000", "+OK")
	clock.Time = start.Add(time.Second) // 700 µs before the deadline in true time, at the deadline in Redis's milliseconds
	redistest.Expect(t, s, "PTTL k", ":0")
	clock.advance(999 * time.Microsecond)
	r.Tick()
	redistest.Expect(t, s, "GET k", "$1 v")
	next, ok := r.NextDeadline()
	if want := start.Add(1001 * time.Millisecond); !ok || !next.Equal(want) {
		t.Errorf("NextDeadline: %v %v, want %v", next, ok, want)
	}
	clock.advance(time.Microsecond)
	r.Tick()
	if len(r.Keys()) > 0 {
		t.Errorf("the key lives on: %v", r.Keys())
	}
	redistest.Expect(t, s, "GET k", "$-1")
	if _, ok := r.NextDeadline(); ok {
		t.Error("a deadline without a key")
	}
}

func TestNextDeadline(t *testing.T) {
	r, clock := newNode(t)
	s := r.Connect("")
	check := func(want time.Duration) {
		t.Helper()
		got, ok := r.NextDeadline()
		if !ok && want == 0 {
			return
		}
		if d := got.Sub(clock.Truncate(time.Millisecond)) - time.Millisecond; !ok || d != want {
			t.Errorf("next deadline in %v %v, want %v", d, ok, want)
		}
	}
	check(0)
	s.Do("SET", "a", "1", "PX", "300")
	s.Do("SET", "b", "1", "PX", "200")
	s.Do("HSET", "h", "f", "1")
	check(200 * time.Millisecond)
	s.Do("PEXPIRE", "h", "100")
	check(100 * time.Millisecond)
	s.Do("DEL", "h")
	check(200 * time.Millisecond)
	s.Do("PERSIST", "b")
	check(300 * time.Millisecond)
	s.Do("RENAME", "a", "c")
	check(300 * time.Millisecond)
	s.Do("SET", "c", "2")
	check(0)
}

func TestRestart(t *testing.T) {
	r, clock := newNode(t)
	var ops []string
	r.Observe(func(c Change) { ops = append(ops, c.Op+" "+c.Key) })
	s := r.Connect("c1")
	s.Do("SET", "a", "1", "PX", "500")
	s.Do("SET", "b", "2", "PX", "5000")
	s.Do("SET", "c", "3")
	s.Do("HSET", "h", "f", "1")
	redistest.Expect(t, s, "SCRIPT LOAD return", "$40 63143b6f8007b98c53ca2149822777b3566f9241")
	redistest.Expect(t, s, "WATCH a", "+OK")
	s.Feed([]byte("*1\r\n$4\r\nPI"))
	ops = nil

	clock.advance(time.Second) // while the node is down
	r.Restart(false)
	if !s.Closed() || s.Feed([]byte("NG\r\n")) != nil {
		t.Error("a connection outlived the process")
	}
	s = r.Connect("c1")
	redistest.Expect(t, s, "CLIENT ID", ":1")
	redistest.Expect(t, s, "GET a", "$-1")
	redistest.Expect(t, s, "PTTL b", ":4000")
	redistest.Expect(t, s, "HGET h f", "$1 1")
	redistest.Expect(t, s, "EVALSHA 63143b6f8007b98c53ca2149822777b3566f9241 0", "-NOSCRIPT No matching script. Please use EVAL.")

	r.Restart(true)
	if s = r.Connect("c1"); len(r.Keys()) > 0 {
		t.Errorf("keys after an empty restart: %v", r.Keys())
	}
	redistest.Expect(t, s, "DBSIZE", ":0")
	redistest.Expect(t, s, "SET b 2 NX", "+OK")
	if want := []string{history.Expire + " a", history.Lose + " b", history.Lose + " c", history.Lose + " h", history.Set + " b"}; !reflect.DeepEqual(ops, want) {
		t.Errorf("changes %v, want %v", ops, want)
	}
}

// TestNodeInBubble checks that a node leaves no goroutine behind: otherwise the bubble would not end.
func TestNodeInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRedis(time.Now)
		s := r.Connect("c1")
		redistest.Expect(t, s, "SET k v NX PX 100", "+OK")
		for _, refused := range []string{"SSUBSCRIBE ch", "BLMOVE l m LEFT LEFT 0", "XREAD BLOCK 0 STREAMS s $", "MONITOR"} {
			if got := s.Do(strings.Fields(refused)...); !strings.Contains(got, "does not simulate") {
				t.Errorf("%s: %q", refused, got)
			}
		}
		time.Sleep(101 * time.Millisecond)
		redistest.Expect(t, s, "GET k", "$-1")
		r.Close()
	})
}

func TestFarDeadline(t *testing.T) {
	r, _ := newNode(t)
	s := r.Connect("")
	redistest.Expect(t, s, "SET k v PX 9223372036854775807", "-ERR invalid expire time in 'set' command")
	redistest.Expect(t, s, "SET k v PXAT 9223372036854775807", "+OK")
	if got := r.Keys()[0].Deadline; got.Year() != 2262 || got.UnixMilli() != math.MaxInt64/1_000_000 {
		t.Errorf("deadline %v", got)
	}
}

// The benchmarks measure the costs that a simulation pays again and again.

func BenchmarkNewRedis(b *testing.B) {
	for b.Loop() {
		NewRedis(time.Now).Close()
	}
}

func benchmarkFeed(b *testing.B, requests ...[]byte) {
	clock := &testClock{start}
	r := NewRedis(clock.now)
	defer r.Close()
	changes := 0
	r.Observe(func(Change) { changes++ })
	s := r.Connect("c1")
	b.ReportAllocs()
	for b.Loop() {
		for _, request := range requests {
			clock.advance(100 * time.Microsecond)
			s.Feed(request)
		}
	}
}

func BenchmarkPing(b *testing.B) { benchmarkFeed(b, redistest.AppendCommand(nil, "ping")) }

func BenchmarkGet(b *testing.B) { benchmarkFeed(b, redistest.AppendCommand(nil, "get", "lock")) }

func BenchmarkSetNXRefused(b *testing.B) {
	benchmarkFeed(b, redistest.AppendCommand(nil, "set", "lock", "0123456789abcdef", "px", "100000000000", "nx"))
}

// BenchmarkSetNXDel measures two commands.
func BenchmarkSetNXDel(b *testing.B) {
	benchmarkFeed(b,
		redistest.AppendCommand(nil, "set", "lock", "0123456789abcdef", "px", "10000", "nx"), redistest.AppendCommand(nil, "del", "lock"))
}

// BenchmarkSetNXEvalSHA measures a lock and its release by a script.
func BenchmarkSetNXEvalSHA(b *testing.B) {
	const release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
	clock := &testClock{start}
	r := NewRedis(clock.now)
	defer r.Close()
	s := r.Connect("c1")
	s.Do("SCRIPT", "LOAD", release)
	set := redistest.AppendCommand(nil, "set", "lock", "0123456789abcdef", "px", "10000", "nx")
	evalsha := redistest.AppendCommand(nil, "evalsha", sha1Hex(release), "1", "lock", "0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(set)
		s.Feed(evalsha)
	}
}

// BenchmarkFirstScript measures what the interpreter costs the first script of a process.
func BenchmarkFirstScript(b *testing.B) {
	r := NewRedis(time.Now)
	defer r.Close()
	request := redistest.AppendCommand(nil, "EVAL", "return 1", "0")
	b.ReportAllocs()
	for b.Loop() {
		r.Connect("").Feed(request)
		r.Restart(false)
	}
}

// For a range that counts from the end, Redis checks whether it is empty before it clamps its ends.
func TestGetRangeFromTheEnd(t *testing.T) {
	r, _ := newNode(t)
	s := r.Connect("c1")
	redistest.Expect(t, s, "SET k 7", "+OK")
	redistest.Expect(t, s, "GETRANGE k -1 -2", "$0 ")
	redistest.Expect(t, s, "GETRANGE k -2 -1", "$1 7")
	redistest.Expect(t, s, "GETRANGE k -1 -x", "-ERR value is not an integer or out of range")
	redistest.Expect(t, s, "GETRANGE k 0 -2", "$1 7") // clamped later
}
