package clients

import (
	"encoding/hex"
	"math/rand/v2"
)

// newToken draws the random value that marks the owner of a lock: 20 bytes, as the Redis documentation recommends. It must be
// unique over all requests of all clients, so each attempt draws a new one.
func newToken(r *rand.Rand) string {
	var b [20]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b[:])
}
