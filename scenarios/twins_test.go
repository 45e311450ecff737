package scenarios

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/clients/libraries"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A twin is what would have made a SAFE run UNSAFE: a lock that lacks something, in the same story, or a greater fault, in another
// run of the page or in a line of the nemesis that is added. Without one, that a run is SAFE may only mean that nothing could go
// wrong in it. Where the twin has another lock and one more fault, the proper lock is SAFE under that fault as well.
type twin struct {
	run   string // SCENARIO/RUN, which is expected to be SAFE
	with  string // the lock in its place; with +plain on the plain resource; with a slash before it, another run of the page
	fault string // one more line of the nemesis, if any
}

var twins = []twin{
	{"asked-while-held/single", "single-token-in-locker", ""},
	{"asked-while-held/watchdog", "watchdog-refused-stops", ""},
	{"asked-while-held/redlock", "single-token-in-locker", ""},
	{"released-twice/single", "single-counts", ""},
	{"released-twice/watchdog", "single-counts", ""},
	{"released-twice/redlock", "single-counts", ""},
	{"released-twice/single/own", "single-lease-reused", ""},
	{"released-twice/watchdog/own", "single-lease-reused", ""},
	{"released-twice/redlock/own", "single-lease-reused", ""},
	{"released-twice/single/lost", "single-release-once", ""},
	{"released-twice/redlock/lost", "redlock-release-once", ""},
	{"crash-restart-scripts/redlock", "redlock-release-sha", ""},
	{"crash-restart-scripts/watchdog", "watchdog-sha", ""},
	{"acquire-cancelled/single/often", "single-cancelled-counts", ""},
	{"acquire-cancelled/redlock/often", "single-cancelled-counts", ""},
	{"ttl-fraction/watchdog/renewed", "watchdog-seconds", ""},
	{"two-ttls/watchdog/renewed", "watchdog-first-period", ""},
	{"two-ttls/watchdog/both", "watchdog-last-ttl", ""},
	{"client-clock-jump/single/release", "single-release-by-wall", ""},
	{"client-clock-jump/redlock/release", "single-release-by-wall", ""},
	{"other-name/single/long", "single-name-cut", ""},
	{"other-name/redlock/long", "single-name-folded", ""},
	{"clock-drift/redlock-extend/extended", "redlock-extend-first-drift", ""},
	{"ttl-too-long/single-extend/extended", "single-extend-capped", ""},
	{"two-ttls/watchdog/lost", "watchdog-batch", ""},
	{"two-ttls/watchdog/lost", "watchdog-sorted", ""},
	{"two-ttls/watchdog/newer", "watchdog-newest-period", ""},
	{"two-ttls/watchdog/both", "watchdog-oldest-period", ""},
	{"other-name/watchdog/error", "watchdog-error-ends-all", ""},
	{"released-twice/watchdog/own", "watchdog-timer-by-name", ""},
	{"two-ttls/single-extend/extended", "single-extend-adopts-ttl", ""},
	{"two-ttls/redlock-extend/extended", "single-extend-adopts-ttl", ""},
	{"other-name/watchdog/asking", "watchdog-asks-restart", ""},
	{"other-name/single-extend/extended", "single-extend-last-token", ""},
	{"other-name/redlock-extend/extended", "single-extend-last-token", ""},
	{"other-name/fenced/token", "fenced-last-fence", ""},
	{"other-name/single/over", "single-clears-table", ""},
	{"other-name/redlock/over", "single-clears-table", ""},
	{"extend-other-ttl/single-extend/unanswered", "single-extend-adopts-end", ""},
	{"extend-other-ttl/redlock-extend/unanswered", "redlock-extend-adopts-end", ""},
	{"extend-gone/single-extend/again", "single-extend-stays-lost", ""},
	{"extend/single-extend/no-reply-late", "single-extend-skips-over", ""},
	{"clock-jump-back/single/released", "single-skips-over", ""},
	{"clock-jump-back/redlock/released", "redlock-skips-over", ""},
	{"clock-jump-back/watchdog/renewed", "watchdog-renews-gt", ""},
	{"release-cancelled/single/again", "single-closed-by-release", ""},
	{"release-cancelled/redlock/again", "single-closed-by-release", ""},
	{"redlock-partition-halves/redlock/seven", "redlock-three-votes", ""},
	{"redlock-partition-halves/redlock/even", "redlock-half-rounded-up", ""},
	{"clock-drift/redlock/short", "redlock-drift-seconds", ""},
	{"writes-refused/single", "single-avoids-node", ""},
	{"writes-refused/single-extend", "single-extend-unreplicated", ""},
	{"writes-refused/watchdog/in-vain", "watchdog-error-renews", ""},
	{"writes-refused/watchdog/mended", "watchdog-error-loses", ""},
	{"redlock-reply-lost/redlock/all", "redlock-leaves-unheard", ""},
	{"clock-drift/redlock/longer", "redlock-drift-capped", ""},
	{"watchdog-late-reply/watchdog/dropped", "watchdog-renews-on", ""},
	{"second-lease/single", "single-timer-left", ""},
	{"two-ttls/single", "single-ttl-in-key", ""},
	{"two-ttls/redlock", "single-ttl-of-first", ""},
	{"two-ttls/watchdog", "single-ttl-of-first", ""},
	{"two-ttls/fenced", "single-ttl-of-first", ""},
	{"two-ttls/single/shorter", "single-ttl-longest", ""},
	{"two-ttls/redlock/shorter", "single-ttl-longest", ""},
	{"two-ttls/watchdog/shorter", "single-ttl-longest", ""},
	{"acquire-cancelled/single/waiting", "single-polls-on", ""},
	{"acquire-cancelled/redlock/waiting", "single-polls-on", ""},
	{"acquire-cancelled/redsync/waiting", "single-polls-on", ""},
	{"tenth-lease/single", "single-token-prefix", ""},
	{"tenth-lease/fenced", "single-token-prefix", ""},
	{"tenth-lease/redlock", "single-token-prefix", ""},
	{"second-lease/watchdog", "single-timer-left", ""},
	{"second-lease/redlock", "single-timer-left", ""},
	{"acquire-cancelled/single", "single-clean-up-cancelled", ""},
	{"acquire-cancelled/fenced", "single-goes-on", ""},
	{"acquire-cancelled/watchdog", "single-goes-on", ""},
	{"acquire-cancelled/redislock", "single-goes-on", ""},
	{"acquire-cancelled/redlock/minority", "redlock-leaves-failed", ""},
	{"client-time/redsync/back", "/rueidislock-one/back", ""},
	{"client-time/redsync/back-acquiring", "redlock-wall", ""},
	{"client-time/redislock/back", "/rueidislock-one/back", ""},
	{"client-time/redislock/back-acquiring", "redlock-wall", ""},
	{"client-time/watchdog/back", "redlock-half-quorum", ""},
	{"client-time-drift/redsync/slow-1", "/redsync/slow-10", ""},
	{"client-time-drift/watchdog/slow-10", "single-uncompared", ""},
	{"late-acquire/single-extend", "single-uncompared", ""},
	{"late-clean-up/redlock/repeated", "redlock-same-token", ""},
	{"other-name/single", "single-one-key", ""},
	{"other-name/watchdog/lost", "watchdog-one-lost", ""},
	{"other-name/watchdog/first", "watchdog-one-stop", ""},
	{"other-name/single/ends", "single-one-end", ""},
	{"other-name/redlock/ends", "single-one-end", ""},
	{"second-lease/single/late-release", "single-token-of-name", ""},
	{"second-lease/redlock/late-release", "single-token-of-name", ""},
	{"watchdog-pause/watchdog/later", "watchdog-reacquires", ""},
	{"ttl-fraction/single/short", "single-ttl-whole-seconds", ""},
	{"ttl-fraction/redlock/short", "single-ttl-whole-seconds", ""},
	{"extend/single-extend/early", "single-extend-skips", ""},
	{"extend/redlock-extend/early", "single-extend-skips", ""},
	{"extend-minority/redlock-extend/unheard", "redlock-extend-rotates", ""},
	{"wait-refused/single-wait/cancelled", "single-wait-clean-up-cancelled", ""},
	{"other-name/fenced", "single-one-key", ""},
	{"other-name/watchdog", "single-one-key", ""},
	{"other-name/redlock", "single-one-key", ""},
	{"other-name/redsync", "single-one-key", ""},
	{"other-name/redislock", "single-one-key", ""},
	{"stall-after-grant/single", "redlock-half-quorum", ""},
	{"stall-after-grant/watchdog", "redlock-half-quorum", ""},
	{"born-expired/redlock", "redlock-no-elapsed-check", ""},
	{"fence-much-later/fenced", "fenced-expires", ""},
	{"fence-much-later/fenced/month", "fenced-hour", ""},
	{"late-clean-up/redlock", "redlock-same-token", ""},
	{"late-clean-up/redlock-sequential", "redlock-same-token", ""},
	{"late-clean-up/redlock/soon", "redlock-same-token", ""},
	{"ttl-fraction/single", "single-ex-seconds", ""},
	{"ttl-fraction/watchdog", "single-ex-seconds", ""},
	{"ttl-fraction/fenced", "single-ex-seconds", ""},
	{"ttl-fraction/redlock", "nolock", ""},
	{"ttl-fraction/single-extend/extended", "single-extend-seconds", ""},
	{"slow-reply/single", "single-gives-up", ""},
	{"acquire-cancelled/single/again", "single-shared-context", ""},
	{"second-lease/watchdog/long", "watchdog-started-once", ""},
	{"second-lease/watchdog/after-error", "watchdog-off-after-error", ""},
	{"long-outage/single/releases", "single-places-lost", ""},
	{"ttl-fraction/redlock-extend/extended", "nolock", ""},
	{"watchdog-back-late/watchdog", "watchdog-recreates", ""},
	{"watchdog-late-reply/watchdog", "watchdog-from-reply", ""},
	{"client-clock-drift/redlock/within", "redlock-no-drift", ""},
	{"client-clock-jump/redlock", "redlock-wall", ""},
	{"client-time-pause/redsync/timer-due", "/rueidislock-nocache/timer-due", ""},
	{"client-time-pause/redislock-linear/timer-due", "/rueidislock-nocache/timer-due", ""},
	{"clock-drift/redlock/below", "redlock-no-drift", ""},
	{"clock-jump-back/redlock/only-reachable", "redlock-no-timeout", ""},
	{"clock-jump-back/redlock", "redlock-all-nodes", ""},
	{"clock-offset/single", "nolock", ""},
	{"clock-offset/fenced", "nolock", ""},
	{"clock-offset/redlock", "redlock-instants", "jump n4 +60s"},
	{"clock-step-vs-slew/redlock/slew", "redlock-no-drift", ""},
	{"crash-before-expire/single", "setnx-expire", ""},
	{"crash-no-ttl/single", "setnx", ""},
	{"crash-no-ttl/single-extend/extended", "single-extend-prolongs", ""},
	{"crash-restart-5/redlock/durable", "redlock-half-quorum", ""},
	{"crash-restart-aof/redlock/everysec-kill", "/redlock/everysec-power", ""},
	{"crash-restart-aof/redlock/always-kill", "/redlock/slow-kill", ""},
	{"crash-restart-aof/redlock/always-power", "/redlock/lying-power", ""},
	{"crash-restart-aof/redlock/rdb-stop", "/redlock/rdb-kill", ""},
	{"crash-restart-scripts/single", "single-evalsha", ""},
	{"crash-restart-scripts/single-extend", "single-extend-sha", ""},
	{"crash-with-write-in-flight/fenced", "fenced-per-client", ""},
	{"delay-to-lock-server/redlock", "redlock-no-clock", ""},
	{"delay-to-lock-server/redlock/replies", "redlock-no-clock", ""},
	{"delay-to-resource/fenced", "fenced-per-client", ""},
	{"delayed-restart/redlock", "/redlock/too-short", ""},
	{"expiry-herd/single", "getset", ""},
	{"extend/redlock-extend", "redlock-no-drift", ""},
	{"extend/redlock-extend/drift", "redlock-extend-no-drift", ""},
	{"extend/single-extend/no-reply-released", "single-extend-versioned", ""},
	{"extend/redlock-extend/no-reply-released", "redlock-extend-versioned", ""},
	{"extend-gone/single-extend", "single-extend-soft", ""},
	{"extend-gone/redlock-extend", "redlock", ""},
	{"extend-late/single-extend", "single-extend-xx", ""},
	{"extend-late/single-extend/released", "single-extend-reacquires", ""},
	{"extend-late/redlock-extend", "redlock-recreating-extension", ""},
	{"extend-late/redlock-extend/released", "redlock-recreating-extension", ""},
	{"extend-minority/redlock-extend/granted", "redlock-extend-of-granted", ""},
	{"extend-minority/redlock-extend", "redlock-minority-extends", ""},
	{"extend-minority/redlock-extend/checked", "redlock-minority-extends", ""},
	{"extend-other-ttl/single-extend/longer", "single-extend-first-ttl", ""},
	{"extend-other-ttl/single-extend/shorter", "single-extend-later-end", ""},
	{"extend-other-ttl/single-extend/no-reply", "single-extend-on-reply", ""},
	{"extend-other-ttl/redlock-extend/longer", "redlock", ""},
	{"extend-other-ttl/redlock-extend/shorter", "redlock-extend-adds", ""},
	{"extend-other-ttl/redlock-extend/no-reply", "redlock-extend-adds", ""},
	{"failover-lag/single/replicated", "/single", ""},
	{"failover-lag/single-wait", "single-wait-elsewhere", ""},
	{"fence-or-check-and-set/fenced/written-first", "/fenced/read-first", ""},
	{"fence-or-check-and-set/redlock/read-first", "/redlock/written-first", ""},
	{"fence-zombie-first/fenced/write-at-once", "/fenced", ""},
	{"fixed-value/single", "fixed", ""},
	{"hung-node-of-three/redlock", "redlock-no-timeout", ""},
	{"hung-node-of-three/redlock/short", "redlock-no-timeout", ""},
	{"hung-node-of-three/redsync", "/redsync/short", ""},
	{"hung-node-of-three/redsync-fail-fast/short", "/redsync/short", ""},
	{"hung-node-of-three/redsync-timeout/short", "/redsync/short", ""},
	{"leap-second/redlock-wall/smear", "/redlock-wall/step", ""},
	{"leap-second/redlock/step", "redlock-wall", ""},
	{"lost-update/watch", "/nolock", ""},
	{"lost-update/watch/many", "nolock", ""},
	{"lost-update/watch-retry", "/nolock", ""},
	{"lost-update/watch-retry/many", "nolock", ""},
	{"lost-update/single", "/nolock", ""},
	{"lost-update/single/many", "/nolock/many", ""},
	{"partition-no-ttl/single", "setnx", ""},
	{"pause-fenced/fenced", "fenced-per-client", ""},
	{"pause-in-acquire/redlock", "redlock-no-elapsed-check", ""},
	{"pause-in-acquire/redlock-sequential", "redlock-no-clock", ""},
	{"read-modify-write/fenced", "fenced-per-client", ""},
	{"redlock-contended/redlock/staggered", "redlock-fixed-delay", ""},
	{"redlock-contended/redlock/even-split", "redlock-half-quorum", ""},
	{"redlock-hung-node/redlock", "redlock-no-timeout", ""},
	{"redlock-hung-node/redlock-sequential", "redlock-no-timeout", ""},
	{"redlock-partition-halves/redlock", "redlock-reachable-quorum", ""},
	{"redlock-reply-lost/redlock", "redlock-release-granted", ""},
	{"redlock-reply-lost/redlock-sequential", "redlock-release-granted", ""},
	{"redlock-slow-acquire/redlock/replies", "redlock-ttl-from-return", ""},
	{"redlock-slow-acquire/redlock-sequential", "redlock-no-clock", ""},
	{"release-cancelled/single/own-context", "/single", ""},
	{"release-race/single", "/getdel", ""},
	{"release-race/single-delex", "/getdel", ""},
	{"retried-release/single", "single-uncompared-retries", heldLonger},
	{"retried-release/single-retries", "single-uncompared-retries", heldLonger},
	{"retried-release/redsync", "single-uncompared-retries", heldLonger},
	{"retried-release/redsync-no-retries", "single-uncompared-retries", heldLonger},
	{"retried-release/redislock", "single-uncompared-retries", heldLonger},
	{"retried-release/redislock-no-retries", "single-uncompared-retries", heldLonger},
	{"retried-set/redlock", "/single", ""},
	{"retried-set/redsync", "redlock-release-granted", ""},
	{"retried-set/redsync-no-retries", "redlock-release-granted", ""},
	{"retried-set/redislock", "redlock-release-granted", ""},
	{"single-node-down/redlock", "/single", ""},
	{"split-brain/single/later", "/single", ""},
	{"token-check-and-set/redlock/update", "fixed", ""},
	{"token-collision/single", "single-usec", ""},
	{"token-in-name/fenced", "fixed+plain", ""},
	{"ttl-too-short/fenced", "fenced-per-client", ""},
	{"ttl-too-short/watchdog", "/single", ""},
	{"ttl-too-short/watchdog/short", "watchdog-least-period", ""},
	{"wait-other-connection/single-wait", "single-wait-elsewhere", ""},
	{"wait-other-connection/single-wait/again", "single-wait-own-client", ""},
	{"wait-refused/single-wait", "single-wait-leaves", ""},
	{"late-renewal/watchdog", "watchdog-recreates-late", ""},
	{"extend-minority/redlock-extend/twice", "redlock-extend-counts-earlier", ""},
	{"redlock-node-by-node/redlock", "redlock-from-last-round", ""},
	{"release-during-renewal/watchdog", "watchdog-release-aborted", ""},
	{"other-name/single/prefix", "single-release-parts", ""},
	{"other-name/redlock/prefix", "single-release-prefix", ""},
	{"other-name/single/both", "single-one-at-a-time", ""},
	{"other-name/watchdog/both", "watchdog-one-timer", ""},
	{"ttl-fraction/single/nearer-two", "single-until-rounded", ""},
	{"asked-while-held/single/past-its-end", "single-joins", ""},
	{"pause-in-acquire/watchdog/renewed", "watchdog-swaps-token", ""},
	{"redlock-minority-down/redlock/first", "redlock-first-three", ""},
	{"ttl-too-long/single/days", "single-microseconds-32", ""},
	{"ttl-too-long/single/days", "single-milliseconds-32", ""},
	{"asked-while-held/single/shorter", "single-reentrant-resets", ""},
	{"asked-while-held/single/thrice", "single-reentrant-flag", ""},
	{"asked-while-held/single-extend/extended", "single-reentrant-extends", ""},
	{"client-clock-jump/single-extend/extended", "single-extend-by-wall", ""},
	{"clock-drift/redlock/renewed", "redlock-renew-no-drift", ""},
	{"failover-lag/single-wait/extended", "single-wait-extend", ""},
	{"failover-lag/single-wait/renewed", "single-wait-renews", ""},
	{"other-name/single/signs", "single-signs-folded", ""},
	{"ttl-too-long/single/held", "single-capped-ttl", ""},
	{"watchdog-crash/watchdog/later", "watchdog-doubles", ""},
	{"watchdog-crash/watchdog", "watchdog", "at 11500ms jump n1 +20s"},
}

// heldLonger has the next holder of a lock hold it when a release is repeated.
const heldLonger = "when c2 acquired pause c2 200ms"

// Why a SAFE run has no twin.
const (
	onlyTokens = "only fenced-per-client fails, whose tokens are wrong in any story"
	ofLibrary  = "only a library fails: see finding 16"
	shorter    = "a clock that is ahead, or fast, makes a lease shorter or its keys last longer, and harms nobody"
	later      = "the keys are set after the pause, so they outlast a lease that is counted from before the pause or from its end"
)

// twinless are the exceptions.
var twinless = map[string]string{
	"extend-majority/redlock-extend":                 ofLibrary,
	"extend-majority/redlock-extend/checked":         ofLibrary,
	"client-time/redsync/ahead":                      shorter,
	"client-time/redsync/ahead-acquiring":            shorter,
	"client-time/redislock/ahead":                    shorter,
	"client-time/redislock/ahead-acquiring":          shorter,
	"client-time/watchdog/ahead-crash":               shorter,
	"client-time-drift/redsync/fast-1":               shorter,
	"client-time-drift/redsync/fast-10":              shorter,
	"client-time-drift/redislock/fast-1":             shorter,
	"client-time-drift/redislock/fast-10":            shorter,
	"client-time-pause/redsync/before-request-8s":    later,
	"client-time-pause/redsync/before-request-15s":   later,
	"client-time-pause/redislock/before-request-8s":  later,
	"client-time-pause/redislock/before-request-15s": later,
	"delayed-restart-majority/redlock":               onlyTokens,
	"held-quietly/watchdog":                          "one client holds the lock, nobody else wants it, and the page only counts what renewing costs",
	"holder-cut-off/single":                          onlyTokens,
	"holder-cut-off/watchdog":                        onlyTokens,
	"redlock-calm/redlock":                           onlyTokens,
	"redlock-calm/redlock-sequential":                onlyTokens,
	"redlock-contended/redlock":                      onlyTokens,
	"redlock-contended/redlock-sequential":           onlyTokens,
	"redlock-majority-down/redlock":                  "only setnx fails, and its keys stay in every run in which a request gets no answer",
	"redlock-minority-down/redlock":                  onlyTokens,
	"retried-release/redlock":                        onlyTokens,
	"slow-link/single":                               "only locks that wait for a replica fail, and here there is none",
	"slow-reply/redlock":                             "the votes of the other nodes are enough, whatever happens to one reply",
	"ttl-too-long/redlock":                           onlyTokens,
	"ttl-too-long/single":                            onlyTokens,
}

// Each SAFE run of the catalogue has a twin that is UNSAFE, or is among the exceptions.
func TestSafeRunsHaveTwins(t *testing.T) {
	play.QuietRedis()
	all := stories(t)
	left := map[string]twin{}
	for _, w := range twins {
		left[w.run] = w
	}
	for name := range leftOut(t) {
		delete(left, name)
	}
	locks := slices.Concat(lacking.All(), clients.Locks())
	for _, s := range all {
		for _, r := range s.Runs {
			name := s.Name + "/" + r.ID()
			if l, err := libraries.Find(r.Lock); err == nil && l.Restless || (&play.Outcome{Run: r}).ExpectedVerdict() != checker.Safe {
				continue
			}
			with, ok := left[name]
			delete(left, name)
			if !ok {
				if twinless[name] == "" {
					t.Errorf("%s is SAFE: what would make it UNSAFE?", name)
				}
				continue
			}
			o := with.play(t, s, r, locks)
			if with.fault != "" && with.with != r.Lock {
				proper := with
				proper.with = r.Lock
				if o := proper.play(t, s, r, locks); o.Result.Verdict != checker.Safe {
					t.Errorf("%s with %q is %s", name, with.fault, o.Result.Verdict)
				}
			}
			if o.Result.Verdict != checker.Unsafe {
				t.Errorf("%s: its twin %s %s is %s: %s", name, with.with, with.fault, o.Result.Verdict, strings.Join(o.Result.Unmet, "; "))
			}
		}
	}
	for name := range left {
		t.Errorf("%s is no SAFE run of the catalogue", name)
	}
	t.Logf("%d twins, %d exceptions", len(twins), len(twinless))
}

// play plays the twin of a run.
func (w twin) play(t *testing.T, s *script.Scenario, r script.Section, locks []clients.Lock) *play.Outcome {
	t.Helper()
	if id, other := strings.CutPrefix(w.with, "/"); other {
		q, err := s.FindRun(id)
		if err != nil {
			t.Fatal(err)
		}
		return simulated(t, s, q, max(q.Seed, 1))
	}
	lock, plain := strings.CutSuffix(w.with, "+plain")
	build, err := clients.FindIn(locks, lock)
	if err != nil {
		build = findLock(t, lock)
	}
	q := s.Resolve(r).With(lock)
	if plain {
		q.Resource = script.Plain
	}
	if w.fault != "" {
		step, err := script.ParseStep(script.Nemesis, w.fault)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(q.Lanes, func(l script.Lane) bool { return l.Process == script.Nemesis })
		if q.Lanes = slices.Clone(q.Lanes); i < 0 {
			i, q.Lanes = len(q.Lanes), append(q.Lanes, script.Lane{Process: script.Nemesis})
		}
		q.Lanes[i].Steps = append(slices.Clip(q.Lanes[i].Steps), step)
	}
	o, err := play.Simulate(s, q, build, max(r.Seed, 1))
	if err != nil {
		t.Fatal(err)
	}
	return o
}
