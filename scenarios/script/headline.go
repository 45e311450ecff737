package script

import (
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/sim/history"
)

// ProseWidth is the width of prose in a file, after its prefix.
const ProseWidth = reports.Width - len("# ")

// Headline says in one sentence what goes wrong in a page with one run, and which violation follows.
func Headline(page *Scenario) string {
	var causes []string
	page.EachStep(func(_, _ int, lane Lane, step Step) {
		f := lane.Fault(step)
		if f == nil || Undoes(f) {
			return
		}
		c := page.cause(f)
		if crash, ok := f.(history.Crash); ok && page.Resolve(page.Runs[0]).injects(history.Restart{Process: crash.Process, Empty: true}) {
			c += " and comes back empty"
		}
		if !slices.Contains(causes, c) {
			causes = append(causes, c)
		}
	})
	effect := "the lock fails"
	for _, e := range page.Runs[0].Expect {
		if e.Status == checker.Violated {
			effect = effects[e.Property]
			break
		}
	}
	text := "Nothing goes wrong, and yet " + effect + "."
	if len(causes) > 0 {
		text = strings.Join(causes, ", ") + ", and " + effect + "."
	}
	if len(text) > ProseWidth {
		text = "Several things go wrong, and " + effect + "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// effects describe the violation of each property.
var effects = map[checker.Property]string{
	checker.LeaseExclusion:    "two clients hold the lock at once",
	checker.ResourceExclusion: "the resource accepts a write under an old lease",
	checker.ExpiredOnReturn:   "a client is granted a lease that has already ended",
	checker.NoLostUpdate:      "an update is lost",
	checker.OwnerOnly:         "a client touches another client's key",
	checker.NoLostVote:        "a client takes a key from its own lease",
	checker.Tokens:            "fencing tokens do not grow",
	checker.DeadlockFreedom:   "nobody gets the lock any more",
	checker.FaultTolerance:    "nobody gets the lock in time",
}

// cause describes a fault.
func (s *Scenario) cause(f history.Fault) string {
	r := s.Resolve(s.Runs[0])
	what := func(process string) string {
		switch {
		case r.IsClient(process):
			return "a client"
		case process == ResourceName:
			return "the resource"
		case slices.Contains(r.ReplicaNames(), process):
			return "a replica"
		case slices.Contains(r.SentinelNames(), process):
			return "a sentinel"
		case slices.Contains(r.ShardNames(), process):
			return "a shard"
		}
		return "a node"
	}
	turn := func(ahead bool, yes, no string) string {
		if ahead {
			return yes
		}
		return no
	}
	switch f := f.(type) {
	case history.Pause:
		return what(f.Process) + turn(r.IsClient(f.Process), " pauses", " hangs")
	case history.Crash:
		return what(f.Process) + turn(r.IsClient(f.Process), " dies", " crashes")
	case history.Stop:
		return what(f.Process) + " is stopped"
	case history.Promote:
		return "a replica is promoted"
	case history.Follow:
		return what(f.Process) + " follows another"
	case history.Jump:
		return "the clock of " + what(f.Process) + " jumps " + turn(f.By > 0, "forward", "back")
	case history.Drift:
		return "the clock of " + what(f.Process) + " runs " + turn(f.PPM > 0, "fast", "slow")
	case history.Slew:
		return "the clock of " + what(f.Process) + " is corrected"
	case history.Cut, history.Hold:
		return "a link is cut"
	case history.Delay:
		return "a link is slow"
	case history.Reset:
		return "connections break"
	case history.Chosen:
		message := turn(f.Link.To == ResourceName, "a write", turn(f.Reply, "a reply", "a request"))
		return message + turn(f.Action == history.ResetMessage, " is lost", " is late")
	}
	return f.String()
}
