package nodes

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
	"lockstep/sim/history"
)

// Sentinel is a process that watches a group together with others, and replaces a primary that is down with a replica. It behaves
// as src/sentinel.c of Redis 7.0, and uses its names for the times; "subjectively" and "objectively down" are terms of its
// documentation.
//
// Not simulated: discovery (Sentinels know all servers and each other by their configuration, and exchange news directly, instead
// of also through channels of the servers that they watch); transactions around REPLICAOF and CLIENT KILL; and, in the choice of
// a successor, for how long a replica had lost its primary.
type Sentinel struct {
	Process *sim.Process
	group   *Group
	random  *rand.Rand

	primary  *watched
	replicas []*watched // in the order in which they became replicas
	peers    []*watched

	// Kept in the configuration file.
	epoch       int64  // current_epoch
	configEpoch int64  // of the present primary
	leader      string // for which it has voted
	leaderEpoch int64

	ticked   time.Duration
	tilted   time.Duration // when it last noticed a problem with time; 0: never
	failover failover
	started  time.Duration // failover_start_time; 0: never

	listeners []*sim.Conn // clients that subscribed to +switch-master
}

// MasterName is the name of the group in the configuration of sentinels.
const MasterName = "lock"

const (
	defaultDownAfter   = 30 * time.Second
	sentinelPing       = time.Second
	sentinelAsk        = time.Second
	sentinelInfo       = 10 * time.Second
	sentinelPublish    = 2 * time.Second
	sentinelReconnect  = 15 * time.Second // MIN_LINK_RECONNECT_PERIOD
	sentinelElection   = 10 * time.Second
	sentinelDesync     = 1000 // milliseconds
	sentinelTilt       = 2 * time.Second
	sentinelTiltPeriod = 30 * time.Second
	failoverTimeout    = 180 * time.Second
)

// serveSentinel adds a sentinel to the world. The other servers must be added before it starts.
func (g *Group) serveSentinel(name string) *Sentinel {
	s := &Sentinel{group: g, random: g.world.Rand(g.cfg.Seed, "sentinel", name)}
	s.Process = g.world.Serve(name, s)
	return s
}

// configure sets the state to the initial configuration.
func (s *Sentinel) configure() {
	s.epoch, s.configEpoch, s.leader, s.leaderEpoch = 0, 0, "", 0
	s.peers = nil
	for _, o := range s.group.sentinels {
		if o != s {
			s.peers = append(s.peers, s.watch(o.Process, true))
		}
	}
	s.setPrimary(s.group.nodes[0].Process, s.group.nodes[1:])
}

func (s *Sentinel) watch(p *sim.Process, peer bool) *watched {
	now := s.now()
	return &watched{s: s, proc: p, peer: peer, ponged: now, reached: now, asked: now, roleAt: now, sourceAt: now}
}

func (s *Sentinel) setPrimary(p *sim.Process, replicas []*Node) {
	for _, i := range append([]*watched{s.primary}, s.replicas...) {
		if i != nil {
			i.hangUp()
		}
	}
	s.primary = s.watch(p, false)
	s.replicas = nil
	for _, n := range replicas {
		r := s.watch(n.Process, false)
		r.replica = true
		s.replicas = append(s.replicas, r)
	}
	s.failover, s.started = failover{}, 0
}

// change makes another server the primary: sentinelResetMasterAndChangeAddress. The old one becomes a replica.
func (s *Sentinel) change(p *sim.Process) {
	old := s.primary.proc
	var replicas []*Node
	for _, i := range append(slices.Clone(s.replicas), s.primary) {
		if i.proc != p {
			replicas = append(replicas, s.group.at(i.proc.Addr()))
		}
	}
	s.setPrimary(p, replicas)
	s.publish("+switch-master", MasterName+" "+spaced(old)+" "+spaced(p))
}

// spaced returns an address as two words.
func spaced(p *sim.Process) string { return strings.Replace(p.Addr(), ":", " ", 1) }

func (s *Sentinel) quorum() int { return (len(s.peers)+1)/2 + 1 }

func (s *Sentinel) downAfter() time.Duration { return s.group.downAfter }

// now is mstime, the time of the wall clock; [Sentinel.tilt] handles changes of that clock. It is never 0.
func (s *Sentinel) now() time.Duration {
	return s.Process.Wall().Now().Sub(s.group.world.Epoch()) + time.Hour
}

func (s *Sentinel) note(op string, about *watched) {
	s.Process.Note(history.Event{Kind: history.State, Op: op, Value: about.proc.Name})
}

// start begins watching.
func (s *Sentinel) start() {
	s.ticked, s.tilted = s.now(), 0
	s.tick()
}

// tick is sentinelTimer. Its rate varies, so that sentinels that started together do not vote at the same times for ever.
func (s *Sentinel) tick() {
	now := s.now()
	if passed := now - s.ticked; passed < 0 || passed > sentinelTilt {
		s.tilted = now
	}
	s.ticked = now
	for _, i := range append(append([]*watched{s.primary}, s.replicas...), s.peers...) {
		i.reconnect(now)
		i.talk(now)
		if s.tilt(now) {
			continue
		}
		i.judge(now)
		if i == s.primary {
			s.count()
			if s.startFailover(now) {
				s.askPeers(now, true)
			}
			s.advance(now)
			s.askPeers(now, false)
		}
	}
	if s.failover.state == updateConfig {
		s.change(s.failover.promoted.proc)
	}
	s.Process.After(time.Second/time.Duration(10+s.random.IntN(10)), s.tick)
}

// tilt reports whether a problem with time was noticed less than half a minute ago: the machine was stopped, or its clock was
// set. A sentinel then keeps watching, but does not act on what it sees.
func (s *Sentinel) tilt(now time.Duration) bool {
	if s.tilted != 0 && now-s.tilted > sentinelTiltPeriod {
		s.tilted = 0
	}
	return s.tilted != 0
}

func (s *Sentinel) primaryLooksSane(now time.Duration) bool {
	p := s.primary
	return !p.replica && !p.sdown && !p.odown && now-p.informed < 2*sentinelInfo
}

// current returns the primary that clients are told.
func (s *Sentinel) current() *sim.Process {
	if s.failover.state >= reconfReplicas {
		return s.failover.promoted.proc
	}
	return s.primary.proc
}

// helloChannel is the channel on which sentinels exchange what they know.
const helloChannel = "__sentinel__:hello"

// hello is sentinelProcessHelloMessage.
func (s *Sentinel) hello(message string) {
	words := strings.Split(message, ",")
	if len(words) != 4 {
		return
	}
	epoch, _ := strconv.ParseInt(words[1], 10, 64)
	config, _ := strconv.ParseInt(words[3], 10, 64)
	n := s.group.at(words[2])
	s.epoch = max(s.epoch, epoch)
	if n == nil || config <= s.configEpoch {
		return
	}
	s.configEpoch = config
	if n.Process != s.primary.proc {
		s.change(n.Process)
	}
}

func (s *Sentinel) publish(channel, message string) {
	for _, c := range s.listeners {
		var w engine.Replies
		w.Array(3)
		w.Bulk("message")
		w.Bulk(channel)
		w.Bulk(message)
		c.Write(w)
	}
}

// Crash is called by the kernel.
func (s *Sentinel) Crash(history.Fault) { s.listeners = nil }

// Restart is called by the kernel. The configuration file keeps the primary, the epochs and the vote.
func (s *Sentinel) Restart(empty bool) {
	if empty {
		s.configure()
		s.start()
		return
	}
	for i, o := range s.peers {
		s.peers[i] = s.watch(o.proc, true)
	}
	var replicas []*Node
	for _, r := range s.replicas {
		replicas = append(replicas, s.group.at(r.proc.Addr()))
	}
	s.setPrimary(s.primary.proc, replicas)
	s.start()
}

// Describe describes commands to sentinels, and their replies.
func (s *Sentinel) Describe(data []byte, reply bool, name func(string) string) string {
	if reply {
		return engine.DescribeReply(data, name)
	}
	return engine.DescribeRequest(data, name)
}
