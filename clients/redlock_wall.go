package clients

import "lockstep/clients/internal/redlock"

// NewRedlockWall is the lock of [NewRedlock] that measures the time of acquiring on the wall clock, as the first implementation
// did with Time.now of Ruby (https://github.com/antirez/redlock-rb, redlock.rb), and as its successor does where there is no
// monotonic clock (https://github.com/leandromoreira/redlock-rb, lib/redlock/client.rb). node-redlock goes further: it returns an
// end by Date.now (https://github.com/mike-marcacci/node-redlock, src/index.ts), which any later change of the clock moves.
//
// If the clock is set back meanwhile, less time seems to have passed, and the lease is valid for longer than its keys exist. If
// it is set forward, a good lease is refused. After the return the rest of the lease counts on the steady clock: a clock that is
// set later does no harm.
func NewRedlockWall(env Env) Locker { return newRedlock(env, redlock.Options{Wall: true}) }
