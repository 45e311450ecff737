package engine

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// idleMinis are miniredis servers for reuse: a new one registers hundreds of commands, which takes longer than everything that a
// short simulation does on a node.
var idleMinis sync.Pool

// openMini returns a miniredis without keys. One that was in use keeps two counters: how often each key was written, of which
// WATCH uses only the difference, and the number of commands, which no command reveals.
func openMini() *miniredis.Miniredis {
	if m, ok := idleMinis.Get().(*miniredis.Miniredis); ok {
		return m
	}
	m := miniredis.NewMiniRedis()
	// Dial is the only way to start miniredis without a listener. Its goroutines end with its connection, and Close waits for
	// them; Dispatch still works.
	conn, err := m.Dial()
	if err != nil {
		panic("engine: " + err.Error()) // only a listener can fail
	}
	conn.Close()
	m.Server().Close()
	// miniredis stores the time that a key has left. If its clock stands still in 1970, that is the deadline.
	m.SetTime(time.Unix(0, 0))
	return m
}

// closeMini returns a miniredis for reuse. It does not close it: its context may have been created inside a bubble.
func closeMini(m *miniredis.Miniredis) {
	m.FlushAll()
	idleMinis.Put(m)
}
