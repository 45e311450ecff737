package pack

import (
	"slices"
	"testing"

	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/course"
	expiryAnyError "lockstep/scenarios/course/pack/key/1-expiry/any-error"
	expiryIgnoresRefusal "lockstep/scenarios/course/pack/key/1-expiry/ignores-refusal"
	expiryLooksFirst "lockstep/scenarios/course/pack/key/1-expiry/looks-first"
	expiryNoTtl "lockstep/scenarios/course/pack/key/1-expiry/no-ttl"
	expiryOverwrites "lockstep/scenarios/course/pack/key/1-expiry/overwrites"
	expiryOwnCtx "lockstep/scenarios/course/pack/key/1-expiry/own-ctx"
	expiryRepairs "lockstep/scenarios/course/pack/key/1-expiry/repairs"
	expiryRetries "lockstep/scenarios/course/pack/key/1-expiry/retries"
	expiryRight "lockstep/scenarios/course/pack/key/1-expiry/right"
	expirySeconds "lockstep/scenarios/course/pack/key/1-expiry/seconds"
	expiryTransaction "lockstep/scenarios/course/pack/key/1-expiry/transaction"
	expiryTwoCommands "lockstep/scenarios/course/pack/key/1-expiry/two-commands"
	releaseAnyError "lockstep/scenarios/course/pack/key/2-release/any-error"
	releaseByClock "lockstep/scenarios/course/pack/key/2-release/by-clock"
	releaseDel "lockstep/scenarios/course/pack/key/2-release/del"
	releaseDelAndFlag "lockstep/scenarios/course/pack/key/2-release/del-and-flag"
	releaseEndedCtx "lockstep/scenarios/course/pack/key/2-release/ended-ctx"
	releaseFinds "lockstep/scenarios/course/pack/key/2-release/finds"
	releaseFixedName "lockstep/scenarios/course/pack/key/2-release/fixed-name"
	releaseGetThenDel "lockstep/scenarios/course/pack/key/2-release/get-then-del"
	releaseIgnoresAnswer "lockstep/scenarios/course/pack/key/2-release/ignores-answer"
	releaseMulti "lockstep/scenarios/course/pack/key/2-release/multi"
	releaseNothing "lockstep/scenarios/course/pack/key/2-release/nothing"
	releaseOwnCtx "lockstep/scenarios/course/pack/key/2-release/own-ctx"
	releaseRenames "lockstep/scenarios/course/pack/key/2-release/renames"
	releaseRetries "lockstep/scenarios/course/pack/key/2-release/retries"
	releaseRight "lockstep/scenarios/course/pack/key/2-release/right"
	releaseWatch "lockstep/scenarios/course/pack/key/2-release/watch"
	deadlineCleanUpError "lockstep/scenarios/course/pack/key/3-deadline/clean-up-error"
	deadlineClockToken "lockstep/scenarios/course/pack/key/3-deadline/clock-token"
	deadlineEndedCtx "lockstep/scenarios/course/pack/key/3-deadline/ended-ctx"
	deadlineFromTheAnswer "lockstep/scenarios/course/pack/key/3-deadline/from-the-answer"
	deadlineGetThenDel "lockstep/scenarios/course/pack/key/3-deadline/get-then-del"
	deadlineKeepsKey "lockstep/scenarios/course/pack/key/3-deadline/keeps-key"
	deadlineNoCheck "lockstep/scenarios/course/pack/key/3-deadline/no-check"
	deadlineNoEnd "lockstep/scenarios/course/pack/key/3-deadline/no-end"
	deadlinePackageTime "lockstep/scenarios/course/pack/key/3-deadline/package-time"
	deadlineRetries "lockstep/scenarios/course/pack/key/3-deadline/retries"
	deadlineRight "lockstep/scenarios/course/pack/key/3-deadline/right"
	deadlineSmallToken "lockstep/scenarios/course/pack/key/3-deadline/small-token"
	deadlineWallClock "lockstep/scenarios/course/pack/key/3-deadline/wall-clock"
	redlockChecksTtl "lockstep/scenarios/course/pack/key/4-redlock/checks-ttl"
	redlockCleanMinority "lockstep/scenarios/course/pack/key/4-redlock/clean-minority"
	redlockFromTheAnswer "lockstep/scenarios/course/pack/key/4-redlock/from-the-answer"
	redlockHalf "lockstep/scenarios/course/pack/key/4-redlock/half"
	redlockNo2ms "lockstep/scenarios/course/pack/key/4-redlock/no-2ms"
	redlockNoCleanUp "lockstep/scenarios/course/pack/key/4-redlock/no-clean-up"
	redlockNoDeadline "lockstep/scenarios/course/pack/key/4-redlock/no-deadline"
	redlockNoDrift "lockstep/scenarios/course/pack/key/4-redlock/no-drift"
	redlockOneNode "lockstep/scenarios/course/pack/key/4-redlock/one-node"
	redlockReachable "lockstep/scenarios/course/pack/key/4-redlock/reachable"
	redlockRight "lockstep/scenarios/course/pack/key/4-redlock/right"
	extensionAdds "lockstep/scenarios/course/pack/key/5-extension/adds"
	extensionEndInAdvance "lockstep/scenarios/course/pack/key/5-extension/end-in-advance"
	extensionFixedName "lockstep/scenarios/course/pack/key/5-extension/fixed-name"
	extensionForgetsTheShorter "lockstep/scenarios/course/pack/key/5-extension/forgets-the-shorter"
	extensionFromTheAnswer "lockstep/scenarios/course/pack/key/5-extension/from-the-answer"
	extensionNoToken "lockstep/scenarios/course/pack/key/5-extension/no-token"
	extensionOldEnd "lockstep/scenarios/course/pack/key/5-extension/old-end"
	extensionOwnCtx "lockstep/scenarios/course/pack/key/5-extension/own-ctx"
	extensionPexpire "lockstep/scenarios/course/pack/key/5-extension/pexpire"
	extensionRetries "lockstep/scenarios/course/pack/key/5-extension/retries"
	extensionRight "lockstep/scenarios/course/pack/key/5-extension/right"
	extensionSetsAgain "lockstep/scenarios/course/pack/key/5-extension/sets-again"
	fencingCounterExpires "lockstep/scenarios/course/pack/key/6-fencing/counter-expires"
	fencingCountsFirst "lockstep/scenarios/course/pack/key/6-fencing/counts-first"
	fencingCountsLater "lockstep/scenarios/course/pack/key/6-fencing/counts-later"
	fencingModulo "lockstep/scenarios/course/pack/key/6-fencing/modulo"
	fencingOwnCounter "lockstep/scenarios/course/pack/key/6-fencing/own-counter"
	fencingRandom "lockstep/scenarios/course/pack/key/6-fencing/random"
	fencingRight "lockstep/scenarios/course/pack/key/6-fencing/right"
	fencingWallClock "lockstep/scenarios/course/pack/key/6-fencing/wall-clock"
)

// solutions are the locks of the key, by the folders of their exercises.
var solutions = map[string]map[string]clients.New{
	"1-expiry": {
		"own-ctx":         expiryOwnCtx.New,
		"transaction":     expiryTransaction.New,
		"repairs":         expiryRepairs.New,
		"retries":         expiryRetries.New,
		"any-error":       expiryAnyError.New,
		"right":           expiryRight.New,
		"ignores-refusal": expiryIgnoresRefusal.New,
		"looks-first":     expiryLooksFirst.New,
		"no-ttl":          expiryNoTtl.New,
		"overwrites":      expiryOverwrites.New,
		"seconds":         expirySeconds.New,
		"two-commands":    expiryTwoCommands.New,
	},
	"2-release": {
		"del-and-flag":   releaseDelAndFlag.New,
		"renames":        releaseRenames.New,
		"fixed-name":     releaseFixedName.New,
		"own-ctx":        releaseOwnCtx.New,
		"watch":          releaseWatch.New,
		"finds":          releaseFinds.New,
		"ended-ctx":      releaseEndedCtx.New,
		"retries":        releaseRetries.New,
		"ignores-answer": releaseIgnoresAnswer.New,
		"any-error":      releaseAnyError.New,
		"right":          releaseRight.New,
		"by-clock":       releaseByClock.New,
		"del":            releaseDel.New,
		"get-then-del":   releaseGetThenDel.New,
		"multi":          releaseMulti.New,
		"nothing":        releaseNothing.New,
	},
	"3-deadline": {
		"clean-up-error":  deadlineCleanUpError.New,
		"retries":         deadlineRetries.New,
		"small-token":     deadlineSmallToken.New,
		"clock-token":     deadlineClockToken.New,
		"get-then-del":    deadlineGetThenDel.New,
		"ended-ctx":       deadlineEndedCtx.New,
		"keeps-key":       deadlineKeepsKey.New,
		"right":           deadlineRight.New,
		"from-the-answer": deadlineFromTheAnswer.New,
		"no-check":        deadlineNoCheck.New,
		"no-end":          deadlineNoEnd.New,
		"package-time":    deadlinePackageTime.New,
		"wall-clock":      deadlineWallClock.New,
	},
	"4-redlock": {
		"clean-minority":  redlockCleanMinority.New,
		"no-2ms":          redlockNo2ms.New,
		"checks-ttl":      redlockChecksTtl.New,
		"right":           redlockRight.New,
		"from-the-answer": redlockFromTheAnswer.New,
		"half":            redlockHalf.New,
		"no-clean-up":     redlockNoCleanUp.New,
		"no-deadline":     redlockNoDeadline.New,
		"no-drift":        redlockNoDrift.New,
		"one-node":        redlockOneNode.New,
		"reachable":       redlockReachable.New,
	},
	"5-extension": {
		"old-end":             extensionOldEnd.New,
		"own-ctx":             extensionOwnCtx.New,
		"retries":             extensionRetries.New,
		"fixed-name":          extensionFixedName.New,
		"right":               extensionRight.New,
		"adds":                extensionAdds.New,
		"end-in-advance":      extensionEndInAdvance.New,
		"forgets-the-shorter": extensionForgetsTheShorter.New,
		"from-the-answer":     extensionFromTheAnswer.New,
		"no-token":            extensionNoToken.New,
		"pexpire":             extensionPexpire.New,
		"sets-again":          extensionSetsAgain.New,
	},
	"6-fencing": {
		"modulo":          fencingModulo.New,
		"right":           fencingRight.New,
		"counter-expires": fencingCounterExpires.New,
		"counts-first":    fencingCountsFirst.New,
		"counts-later":    fencingCountsLater.New,
		"own-counter":     fencingOwnCounter.New,
		"random":          fencingRandom.New,
		"wall-clock":      fencingWallClock.New,
	},
}

// Each solution of the key gets the points that the key says, and the same grade when it is judged again. A tenth of the solutions is
// judged each day, and with -short a twentieth.
func TestKey(t *testing.T) {
	exercises, err := course.Exercises()
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for _, e := range exercises {
		key, err := Key(e)
		if err != nil {
			t.Fatal(err)
		}
		if len(key) != len(solutions[e.Folder]) {
			t.Errorf("the key of %s names %d solutions, and this test has %d", e.Folder, len(key), len(solutions[e.Folder]))
		}
		for _, s := range key {
			n++
			t.Run(e.Folder+"/"+s.Name, func(t *testing.T) {
				parts := uint64(10)
				if testing.Short() {
					parts = 20
				}
				if !draws.Due(n, parts) {
					t.Skip("another day")
				}
				g := judged(t, e, s)
				if g == nil {
					return
				}
				if g.Points() != s.Points {
					t.Errorf("it gets %d points, and the key says %d\n%s", g.Points(), s.Points, g.Report())
				}
				if s.Name == Right && slices.ContainsFunc(g.Rows, func(r course.Row) bool { return r.What != "" }) {
					t.Error(g.Report())
				}
			})
		}
	}
}

// judged judges a solution of the key.
func judged(t *testing.T, e *course.Exercise, s Solution) *course.Grade {
	t.Helper()
	newLock := solutions[e.Folder][s.Name]
	if newLock == nil {
		t.Fatalf("this test does not have the solution %s/%s", e.Folder, s.Name)
	}
	return course.Played(t, e, "key/"+e.Folder+"/"+s.Name+"/lock.go", newLock)
}
