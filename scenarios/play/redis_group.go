package play

import (
	"fmt"
	"slices"
	"time"

	"lockstep/clients"
	"lockstep/nodes/live"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// maxLag is min-replicas-max-lag at speed 1.
const maxLag = 10 * time.Second

// groupOf returns the group of n1 and its replicas at a speed.
func groupOf(r script.Section, speed float64) live.RealGroup {
	return live.RealGroup{
		Primary:     r.NodeNames()[0],
		Replicas:    r.ReplicaNames(),
		Sentinels:   r.SentinelNames(),
		DownAfter:   r.DownAfter,
		MinReplicas: r.MinReplicas,
		MaxLag:      time.Duration(float64(maxLag) / speed),
	}
}

// checkRealGroup says why the group of a resolved run is not possible on real servers at a speed; nil if it is, or there is none.
func checkRealGroup(r script.Section, speed float64) error {
	if r.Shards > 0 {
		return fmt.Errorf("%w: shards=%d: the nodes of a cluster communicate over a bus that does not go through a proxy", live.ErrSimOnly, r.Shards)
	}
	if r.Replicas == 0 {
		return nil
	}
	if err := live.GroupPossible(); err != nil {
		return err
	}
	if r.Persistence != script.Durable {
		return fmt.Errorf("%w: persistence=%s with replicas=%d: a replica rewrites its log when it is in sync", live.ErrSimOnly, r.Persistence, r.Replicas)
	}
	if lag := time.Duration(float64(maxLag) / speed); r.MinReplicas > 0 && (lag < 2*time.Second || lag%time.Second != 0) {
		return fmt.Errorf("at speed %v min-replicas=%d allows a lag of %v, but redis-server takes only whole seconds, and at least 2; the speed must be 1, 2 or 5",
			speed, r.MinReplicas, lag)
	}
	for _, step := range r.Lane(script.Nemesis) {
		if err := checkRealReplication(r, step); err != nil {
			return err
		}
	}
	return nil
}

// checkRealReplication rejects a step that is not possible on servers that replicate.
func checkRealReplication(r script.Section, step script.Step) error {
	switch f := script.FaultOf(step).(type) {
	case history.Jump:
		_, first := step.(script.AtStart)
		if r.IsLock(f.Process) && !(first && slices.Contains(r.ReplicaNames(), f.Process)) {
			return fmt.Errorf("%w: %s: on a real server a clock jump is emulated by changing its keys, and the changes would be replicated; only a replica can have a wrong clock, and only from the start", live.ErrSimOnly, f)
		}
	case history.Chosen:
		if !r.IsClient(f.Link.From) && !r.IsClient(f.Link.To) {
			return fmt.Errorf("%w: %s: traffic between servers is passed on as bytes, not as single messages", live.ErrSimOnly, f)
		}
	}
	return nil
}

// contactsOf returns the addresses at which a client finds the lock nodes; a group has one address.
func contactsOf(r script.Section, p *live.Client) (addrs []string, guide *live.Guide) {
	if r.Replicas > 0 {
		if guide = p.Guide(); guide != nil {
			return guide.Addrs(), guide
		}
		return []string{p.GroupAddr()}, nil
	}
	for _, name := range r.NodeNames() {
		addrs = append(addrs, p.Addr(name))
	}
	return addrs, nil
}

// dialer returns the dialer of a client process.
func (a *assignment) dialer(direct clients.Dialer) clients.Dialer {
	if a.Guide != nil {
		return a.Guide.Dial
	}
	return direct
}
