package engine

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// idleMinis has the miniredis of servers that are gone: a new one registers hundreds of commands, which takes longer than
// a short simulation needs for all that it has done on a node.
var idleMinis sync.Pool

// openMini returns a miniredis without keys. One that was in use remembers how often each key was written, of which WATCH
// wants only the difference, and how many commands it has run, which no command tells.
func openMini() *miniredis.Miniredis {
	if m, ok := idleMinis.Get().(*miniredis.Miniredis); ok {
		return m
	}
	m := miniredis.NewMiniRedis()
	// Dial is the one way to start miniredis without a listener. Its goroutines end with its connection, and Close
	// waits for them; Dispatch goes on working.
	conn, err := m.Dial()
	if err != nil {
		panic("engine: " + err.Error()) // only a listener could fail
	}
	conn.Close()
	m.Server().Close()
	// miniredis counts the time that a key has left. On a clock that stands still in 1970 that is a deadline.
	m.SetTime(time.Unix(0, 0))
	return m
}

// closeMini ends the use of a miniredis. It is not closed: its context may have come to life inside a bubble.
func closeMini(m *miniredis.Miniredis) {
	m.FlushAll()
	idleMinis.Put(m)
}
