package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

// failover is a failover that a sentinel has begun.
type failover struct {
	state    failoverState
	epoch    int64
	changed  time.Duration // when the state last changed
	promoted *watched
}

type failoverState int

const (
	noFailover failoverState = iota
	waitStart                // for votes
	selectReplica
	sendPromotion
	waitPromotion
	reconfReplicas
	updateConfig
)

type reconfState int

const (
	reconfNone reconfState = iota
	reconfSent
	reconfUnderWay
	reconfDone
)

// count is sentinelCheckObjectivelyDown.
func (s *Sentinel) count() {
	p, n := s.primary, 0
	if p.sdown {
		n = 1
		for _, o := range s.peers {
			if o.saysDown {
				n++
			}
		}
	}
	down := n >= s.quorum()
	if down && !p.odown {
		p.odownAt = s.now()
		s.note(history.Odown, p)
	}
	p.odown = down
}

// askPeers is sentinelAskMasterStateToOtherSentinels.
func (s *Sentinel) askPeers(now time.Duration, forced bool) {
	for _, o := range s.peers {
		if now-o.saidAt > 5*sentinelAsk {
			o.saysDown, o.leader = false, ""
		}
		if !s.primary.sdown || !o.up || !forced && (o.asks > 0 || now-o.saidAt < sentinelAsk) {
			continue
		}
		me := "*"
		if s.failover.state != noFailover {
			me = s.Process.Name
		}
		o.asks++
		host, port, _ := strings.Cut(s.primary.proc.Addr(), ":")
		o.send(o.heardState, "SENTINEL", "is-master-down-by-addr", host, port, fmt.Sprint(s.epoch), me)
	}
}

// heardState is sentinelReceiveIsMasterDownReply.
func (w *watched) heardState(reply any) {
	w.asks--
	r, ok := reply.([]any)
	if !ok || len(r) != 3 {
		return
	}
	w.saidAt = w.s.now()
	w.saysDown = r[0] == int64(1)
	if leader, _ := r[1].(string); leader != "*" {
		w.leader = leader
		w.leaderEpoch, _ = r[2].(int64)
	}
}

// vote is sentinelVoteLeader: one vote in each epoch, for the first that asks.
func (s *Sentinel) vote(epoch int64, candidate string) (leader string, leaderEpoch int64) {
	s.epoch = max(s.epoch, epoch)
	if s.leaderEpoch < epoch && s.epoch <= epoch {
		s.leader, s.leaderEpoch = candidate, s.epoch
		if candidate != s.Process.Name {
			s.started = s.now() + s.desync() // wait before starting one of our own
		}
	}
	return s.leader, s.leaderEpoch
}

func (s *Sentinel) desync() time.Duration {
	return time.Duration(s.random.IntN(sentinelDesync)) * time.Millisecond
}

// elected is sentinelGetLeader.
func (s *Sentinel) elected(epoch int64) string {
	votes := map[string]int{}
	winner, most := "", 0
	cast := func(name string) {
		if votes[name]++; votes[name] > most {
			winner, most = name, votes[name]
		}
	}
	for _, o := range s.peers {
		if o.leader != "" && o.leaderEpoch == s.epoch {
			cast(o.leader)
		}
	}
	candidate := winner
	if candidate == "" {
		candidate = s.Process.Name
	}
	if mine, e := s.vote(epoch, candidate); mine != "" && e == epoch {
		cast(mine)
	}
	if most < s.quorum() {
		return ""
	}
	return winner
}

// startFailover is sentinelStartFailoverIfNeeded.
func (s *Sentinel) startFailover(now time.Duration) bool {
	if !s.primary.odown || s.failover.state != noFailover || s.started != 0 && now-s.started < 2*failoverTimeout {
		return false
	}
	s.epoch++
	s.failover = failover{state: waitStart, epoch: s.epoch, changed: now}
	s.started = now + s.desync()
	return true
}

// advance is sentinelFailoverStateMachine.
func (s *Sentinel) advance(now time.Duration) {
	f := &s.failover
	late := now-f.changed > failoverTimeout
	switch f.state {
	case waitStart:
		if s.elected(f.epoch) == s.Process.Name {
			s.note(history.Leader, s.primary)
			f.state, f.changed = selectReplica, now
			return
		}
		if now-s.started > sentinelElection {
			*f = failover{}
		}
	case selectReplica:
		if f.promoted = s.successor(now); f.promoted == nil {
			*f = failover{}
			return
		}
		f.state, f.changed = sendPromotion, now
	case sendPromotion:
		switch {
		case f.promoted.up:
			f.promoted.reconfigure("NO", "ONE")
			f.state, f.changed = waitPromotion, now
		case late:
			*f = failover{}
		}
	case waitPromotion:
		if late {
			*f = failover{}
		}
	case reconfReplicas:
		s.reconfNext()
		s.detectEnd(now, late)
	}
}

// successor is sentinelSelectSlave, with all priorities equal: the replica with the most data.
func (s *Sentinel) successor(now time.Duration) (best *watched) {
	fresh := 3 * sentinelInfo
	if s.primary.sdown {
		fresh = 5 * sentinelPing
	}
	for _, r := range s.replicas {
		if r.sdown || !r.up || now-r.reached > 5*sentinelPing || r.informed == 0 || now-r.informed > fresh {
			continue
		}
		if best == nil || r.offset > best.offset || r.offset == best.offset && r.proc.Name < best.proc.Name {
			best = r
		}
	}
	return best
}

// reconfigure is sentinelSendSlaveOf. Clients of the server must look for the primary again.
func (w *watched) reconfigure(host, port string) {
	w.send(func(any) {}, "REPLICAOF", host, port)
	w.send(func(any) {}, "CLIENT", "KILL", "TYPE", "normal")
}

func (w *watched) follow(p *sim.Process) {
	host, port, _ := strings.Cut(p.Addr(), ":")
	w.reconfigure(host, port)
}

// reconfNext is sentinelFailoverReconfNextSlave with parallel-syncs 1: one replica after the other.
func (s *Sentinel) reconfNext() {
	busy := func(r *watched) bool { return r.reconf == reconfSent || r.reconf == reconfUnderWay }
	if slices.ContainsFunc(s.replicas, busy) {
		return
	}
	for _, r := range s.replicas {
		if r != s.failover.promoted && r.reconf == reconfNone && r.up {
			r.follow(s.failover.promoted.proc)
			r.reconf = reconfSent
			return
		}
	}
}

// detectEnd is sentinelFailoverDetectEnd.
func (s *Sentinel) detectEnd(now time.Duration, late bool) {
	f := &s.failover
	if f.promoted.sdown {
		return
	}
	for _, r := range s.replicas {
		if r == f.promoted || r.reconf == reconfDone || r.sdown {
			continue
		}
		if !late {
			return
		}
		if r.up && r.reconf == reconfNone {
			r.follow(f.promoted.proc)
		}
	}
	f.state, f.changed = updateConfig, now
}
