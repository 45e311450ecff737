package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
)

// TestTruncatedLogOfRedis: in a power loss redis-server loses the tail of its log. It starts with the rest, which is the state
// before the lost writes: the last write is gone, and what it had overwritten or deleted is back.
func TestTruncatedLogOfRedis(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	s := redistest.StartServer(t, t.Context(), AOFEverysec.Options()...)
	c := redistest.Dial(t, s.Addr())
	log, empty := tailOf(t, s)
	redistest.Expect(t, c, "SET before t0", "+OK")
	synchronized := longer(t, s, empty)
	redistest.Expect(t, c, "SET lock t1 PX 60000", "+OK")
	redistest.Expect(t, c, "DEL before", ":1")
	longer(t, s, synchronized)
	s.Crash()
	if err := os.Truncate(log, synchronized); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	c = redistest.Dial(t, s.Addr())
	left := func(c redistest.Conn) {
		redistest.Expect(t, c, "GET lock", "$-1")
		redistest.Expect(t, c, "GET before", "$2 t0")
	}
	left(c)

	// A node that loses its power after the first write of a second has the same keys.
	clock := &testClock{start.Truncate(time.Second)}
	r := NewRedis(clock.now)
	defer r.Close()
	r.Persist(AOFEverysec)
	clock.advance(5300 * time.Millisecond)
	n := r.Connect("c1")
	redistest.Expect(t, n, "SET before t0", "+OK")
	clock.advance(100 * time.Millisecond)
	redistest.Expect(t, n, "SET lock t1 PX 60000", "+OK")
	redistest.Expect(t, n, "DEL before", ":1")
	r.Crash(PowerLost)
	r.Restart(false)
	left(r.Connect("c1"))
}

// longer waits until the log has grown, and returns its size. A write for which there is a reply is in the log, unless an fsync was
// in progress: then redis-server writes it after that, or two seconds later ([AOFEverysecSlow]).
func longer(t *testing.T, s *redisserver.Server, than int64) (size int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); size <= than; time.Sleep(time.Millisecond) {
		if _, size = tailOf(t, s); time.Now().After(deadline) {
			t.Fatalf("the log has %d bytes, and had %d: the writes are not in it, though they were answered", size, than)
		}
	}
	return size
}

// tailOf returns the log file that a server appends to, and its size.
func tailOf(t *testing.T, s *redisserver.Server) (file string, size int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("logs: %q, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return files[0], info.Size()
}
