package play

import (
	"slices"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// metaOf describes a resolved run.
func metaOf(r script.Section, s *script.Scenario, on string, seed uint64) history.Meta {
	return history.Meta{
		Scenario: s.Name,
		Lock:     r.Lock,
		Names:    namesOf(r),
		For:      r.InPlaceOf,
		Label:    r.Label,
		On:       on,
		Seed:     seed,
		Nodes:    r.NodeNames(),
		Replicas: copiesOf(r),
		Others:   slices.Concat(r.SentinelNames(), r.ShardNames()),
		Clients:  r.Clients(),
		Resource: r.Resource,
		TTL:      r.TTL,
		Probe:    script.ProbeName,
		Pace:     paceOf(r),
		Bound:    boundOf(r),
		Guests:   r.Guests && on == OnSim,

		Persistence: r.Persistence,
	}
}

// namesOf returns the names of the locks that clients ask for, if a lane names another than [LockName].
func namesOf(r script.Section) []string {
	names := []string{LockName}
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if l, ok := step.(script.Lock); ok && !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	if len(names) == 1 {
		return nil
	}
	return names
}

// copiesOf returns the lock node that each replica copies.
func copiesOf(r script.Section) map[string]string {
	if r.Replicas == 0 {
		return nil
	}
	of := map[string]string{}
	for _, name := range r.ReplicaNames() {
		of[name] = "n1"
	}
	return of
}

// paceOf returns the longest interval between the tries of one acquire that its lanes set.
func paceOf(r script.Section) time.Duration {
	var pace time.Duration
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if a, ok := script.Once(step).(script.Acquire); ok {
				pace = max(pace, a.Every)
			}
		}
	}
	return pace
}

// capOf returns the cap on virtual time: an hour, or two TTLs if that is longer, after the last instant until which a lane waits. The probe
// waits for one TTL before it asks.
func capOf(r script.Section) time.Duration {
	var last time.Duration
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if u, ok := step.(script.Until); ok {
				last = max(last, u.Time)
			}
		}
	}
	return last + max(time.Hour, 2*r.TTL)
}

// boundOf returns how long the probe may take.
func boundOf(r script.Section) time.Duration { return r.TTL + r.Slack }
