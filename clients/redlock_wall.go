package clients

import "lockstep/clients/internal/redlock"

// NewRedlockWall is the lock of [NewRedlock] that measures on the wall clock what acquiring takes, as the first implementation
// did, by Time.now of Ruby (https://github.com/antirez/redlock-rb, redlock.rb), and its successor where it knows no monotonic
// clock (https://github.com/leandromoreira/redlock-rb, lib/redlock/client.rb). node-redlock goes further, and hands out an end
// by Date.now (https://github.com/mike-marcacci/node-redlock, src/index.ts), which any later change of the clock moves.
//
// If the clock is set back meanwhile, less time seems to have passed than has, and the lease is valid for longer than its
// keys live; if it is set forward, a good lease is refused. What is left of it then counts on the steady clock, from the
// return: a clock that is set later does no harm.
func NewRedlockWall(env Env) Locker { return newRedlock(env, redlock.Options{Wall: true}) }
