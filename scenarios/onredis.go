package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/nodes/redisserver"
	"lockstep/scenarios/play"
)

// OnRedis makes the runs take place in real time (see [Speed]), on redis-server processes that are started and stopped for each
// run. Each client is a process, too, which runs the calling program or test binary again. A pause is a SIGSTOP and a crash a
// SIGKILL, which also stop a lock that calls package time. Your code needs no changes.
//
// A redis-server of version 7 or newer must be on the PATH; it is an error if there is none. Some faults exist in simulation
// only: those of clusters and, without a C compiler, the rate of a node's clock. Their runs are left out, and [Test] logs which
// and why.
//
// Real time also passes while the machine does something else. A run that proves nothing for that reason is repeated, at most
// four times, and more often if a process stood still. A run is also repeated if it has no violation but the reference has one,
// or if slow replies may have kept the lock from the probe: some nodes granted it, no other client's key was in its way, and yet
// it got no lease. Any other violation is final, even one from before the machine stood still. A run that passes may have been
// lucky, and no seed repeats it: a run on real servers shows only what did happen.
func OnRedis() Option { return option("OnRedis", func(o *options) { o.on = play.OnReal }) }

// Speed is the number by which [OnRedis] divides all durations of the scenarios, including the TTL. Durations inside the lock,
// such as the timeout for one node, do not scale, so a run that is too fast proves nothing. A scenario file states its greatest
// speed (speed), and its runs are never faster. This is also the default. For a file without it the default is 5, at which a TTL
// of 10 s becomes 2 s; it is lower if the TTL would otherwise be shorter than 500 ms.
func Speed(by float64) Option { return option("Speed", func(o *options) { o.speed = by }) }

// AtOnce is how many runs take place at once on real servers by default. Most of their time is spent waiting.
const AtOnce = 4

const (
	usualSpeed = 5 // nearly all of the catalogue is valid at this speed
	tries      = 4
)

// forServers checks the options for runs on real servers, and fills in the defaults.
func (o *options) forServers() error {
	given := slices.Contains(o.given, "Speed")
	switch {
	case o.on != play.OnReal && given:
		return errors.New("scenarios.Speed is for scenarios.OnRedis; simulated time is virtual")
	case o.on != play.OnReal:
		return nil
	case given && !(o.speed >= 1 && o.speed <= 1000):
		return fmt.Errorf("scenarios.Speed(%v): it must be between 1 and 1000", o.speed)
	}
	if err := redisserver.Find(); err != nil {
		return fmt.Errorf("scenarios.OnRedis: %w", err)
	}
	return nil
}

// place sets how a case is run. The error says why it is not possible.
func (o *options) place(c play.Case) (play.Case, error) {
	c.On = o.on
	if o.on != play.OnReal {
		return c, nil
	}
	c.Limit, c.Tries = o.limit, tries
	r := c.Scenario.Resolve(c.Run)
	most := max(1, float64(r.TTL)/float64(play.LeastTTL))
	if c.Speed = min(o.speed, most); o.speed == 0 && r.Speed == 0 {
		c.Speed = min(usualSpeed, most)
	}
	err := play.CheckRedis(c.Scenario, c.Run, c.Speed)
	o.longest = max(o.longest, c.Longest())
	return c, err
}

// possible lists the trials that are possible on the backend that the options name, and says why the others are not.
func (o *options) possible(all []trial) (trials []trial, left []string, err error) {
	for _, t := range all {
		c, err := o.place(t.Case)
		if err != nil {
			left = append(left, err.Error())
			continue
		}
		t.Case = c
		trials = append(trials, t)
	}
	if len(trials) == 0 {
		return nil, nil, fmt.Errorf("none of the runs can be done on real servers:\n%s", strings.Join(left, "\n"))
	}
	return trials, left, nil
}

// wall is how much real time a worker has for a run.
func (o *options) wall() time.Duration { return max(o.limit, o.longest) }
