package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/nodes"
)

// OnRedis has the runs take place on redis-server processes, which are started and stopped for each, and in real time (see
// [Speed]). Each client is a process as well, of the program or test binary that calls, so that a pause is a SIGSTOP and a
// crash a SIGKILL; a lock that calls package time is stopped by them like any other. The user's code needs nothing for that.
//
// A redis-server of version 7 or newer must be on the PATH; where there is none, that is an error. Runs whose faults exist in
// simulation only (clusters; without a C compiler, the rate of a node's clock) are left out, and [Test] logs which and why.
//
// Real time also passes while the machine does something else. A run that proves nothing for that reason, or in which nothing
// was violated where the lock that yours is like has a violation, is done again, four times at most, and more often if a process
// stood still. So is one whose probe was granted nodes and no lease though no keys of others stood in its way: slow replies can do
// that. Any other violation is final, also one before the machine stood still. A run that
// passes may still have been lucky, and no seed brings it back: what simulation says is about all that can happen at that
// moment, what a real run says is about what did.
func OnRedis() Option { return option("OnRedis", func(o *options) { o.on = OnReal }) }

// Speed is what all durations of the scenarios are divided by [OnRedis], the TTL among them. What a lock keeps for itself, such
// as the timeout for one node, does not scale, so that too fast a run proves nothing: a page says how much it bears (speed), and
// is done no faster. The default is just that; for a page that does not say, it is 5, at which a TTL of 10 s is 2 s, or so
// much less that the TTL is 500 ms.
func Speed(by float64) Option { return option("Speed", func(o *options) { o.speed = by }) }

// AtOnce is how many runs take place side by side on real servers where nobody says otherwise: they mostly wait.
const AtOnce = 4

const (
	usualSpeed = 5 // nearly all of the catalogue bears it
	tries      = 4
)

// forServers checks the options for runs on real servers, and fills in what was not said.
func (o *options) forServers() error {
	given := slices.Contains(o.given, "Speed")
	switch {
	case o.on != OnReal && given:
		return errors.New("scenarios.Speed is for scenarios.OnRedis; in simulation time takes no time")
	case o.on != OnReal:
		return nil
	case given && !(o.speed >= 1 && o.speed <= 1000):
		return fmt.Errorf("scenarios.Speed(%v): it must be between 1 and 1000", o.speed)
	}
	if err := nodes.FindServer(); err != nil {
		return fmt.Errorf("scenarios.OnRedis: %w", err)
	}
	return nil
}

// place says where and how a case is done. The error says why it cannot be done there.
func (o *options) place(c Case) (Case, error) {
	c.On = o.on
	if o.on != OnReal {
		return c, nil
	}
	c.Limit, c.Tries = o.limit, tries
	r := c.Scenario.Resolve(c.Run)
	most := max(1, float64(r.TTL)/float64(leastTTL))
	if c.Speed = min(o.speed, most); o.speed == 0 && r.Speed == 0 {
		c.Speed = min(usualSpeed, most)
	}
	err := CheckRedis(c.Scenario, c.Run, c.Speed)
	o.longest = max(o.longest, c.longest())
	return c, err
}

// possible lists the trials that can be done where the options say, and why the others cannot.
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
