package nodes

import (
	"bytes"
	"fmt"
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

// watched is a server, or another sentinel, as a sentinel sees it. Times are those of the sentinel's wall clock.
type watched struct {
	s    *Sentinel
	proc *sim.Process
	peer bool

	conn      *sim.Conn // nil if there is none
	up        bool
	unread    []byte
	sent      []func(reply any) // handlers of the replies to come
	infos     int               // how many of them are for INFO,
	asks      int               // and for is-master-down-by-addr
	dialled   time.Duration
	connected time.Duration

	pinged  time.Duration // last_ping_time
	asked   time.Duration // act_ping_time: the first PING without a reply; -1: none
	ponged  time.Duration // last_pong_time
	reached time.Duration // last_avail_time
	sdown   bool
	odown   bool
	downAt  time.Duration // s_down_since_time; 0: never
	odownAt time.Duration

	// For servers, from INFO.
	informed  time.Duration // info_refresh; 0: never
	replica   bool          // role_reported
	roleAt    time.Duration
	source    string // address of its primary
	sourceAt  time.Duration
	linked    bool
	offset    int64
	reconf    reconfState
	published time.Duration // for peers

	// For peers, from is-master-down-by-addr.
	saysDown    bool
	saidAt      time.Duration
	leader      string
	leaderEpoch int64
}

type reconfState int

const (
	reconfNone reconfState = iota
	reconfSent
	reconfUnderWay
	reconfDone
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

func (w *watched) reconnect(now time.Duration) {
	if w.conn != nil || now-w.dialled < sentinelPing {
		return
	}
	w.dialled, w.connected = now, now
	w.conn = w.s.Process.Connect(w.proc)
	w.conn.State = w
	w.pinging(now)
}

func (w *watched) opened() {
	w.up = true
	w.ping(w.pinged) // it has waited for a reply since it began to connect
}

func (w *watched) closed() { w.lost() }

func (w *watched) lost() {
	w.conn, w.up, w.unread, w.sent, w.infos, w.asks = nil, false, nil, nil, 0, 0
}

func (w *watched) hangUp() {
	if w.conn != nil {
		w.conn.State = nil
		w.conn.Close()
		w.lost()
	}
}

// send sends a command. f is called with the reply.
func (w *watched) send(f func(reply any), args ...string) {
	w.conn.Write(engine.Request(args...))
	w.sent = append(w.sent, f)
}

func (w *watched) receive(data []byte) {
	w.unread = append(w.unread, data...)
	for len(w.unread) > 0 && len(w.sent) > 0 {
		reply, n := engine.ReadReply(w.unread)
		if n == 0 {
			return
		}
		w.unread = w.unread[n:]
		f := w.sent[0]
		w.sent = w.sent[1:]
		f(reply)
	}
}

// talk is sentinelSendPeriodicCommands.
func (w *watched) talk(now time.Duration) {
	if !w.up {
		return
	}
	s := w.s
	every := sentinelInfo
	if w != s.primary && (s.primary.odown || s.failover.state != noFailover || w.replica && !w.linked) {
		every = time.Second
	}
	if !w.peer && w.infos == 0 && (w.informed == 0 || now-w.informed > every) {
		w.infos++
		w.send(w.heardInfo, "INFO", "replication")
	}
	if every := min(sentinelPing, s.downAfter()); now-w.ponged > every && now-w.pinged > every/2 {
		w.ping(now)
	}
	if w.peer && now-w.published > sentinelPublish {
		w.published = now
		p := s.current()
		w.send(func(any) {}, "PUBLISH", helloChannel, fmt.Sprintf("%s,%d,%s,%d", s.Process.Name, s.epoch, p.Addr(), s.configEpoch))
	}
}

func (w *watched) pinging(now time.Duration) {
	w.pinged = now
	if w.asked < 0 {
		w.asked = now
	}
}

func (w *watched) ping(now time.Duration) {
	w.pinging(now)
	w.send(func(reply any) {
		w.ponged = w.s.now()
		err, failed := reply.(error)
		if !failed || strings.HasPrefix(err.Error(), "LOADING") || strings.HasPrefix(err.Error(), "MASTERDOWN") {
			w.reached, w.asked = w.ponged, -1
		}
	}, "PING")
}

// judge is sentinelCheckSubjectivelyDown.
func (w *watched) judge(now time.Duration) {
	s, limit := w.s, w.s.downAfter()
	var silent time.Duration
	switch {
	case w.asked >= 0:
		silent = now - w.asked
	case !w.up:
		silent = now - w.reached
	}
	if w.conn != nil && now-w.connected > sentinelReconnect && w.asked >= 0 && now-w.asked > limit/2 && now-w.ponged > limit/2 {
		w.hangUp()
	}
	down := silent > limit || w == s.primary && w.replica && now-w.roleAt > limit+2*sentinelInfo
	if down && !w.sdown {
		w.downAt = now
		s.note(history.Sdown, w)
	}
	w.sdown = down
}

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

// heardInfo is sentinelRefreshInstanceInfo.
func (w *watched) heardInfo(reply any) {
	w.infos--
	text, ok := reply.(string)
	if !ok {
		return
	}
	s := w.s
	now := s.now()
	w.informed = now
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	replica := fields["role"] == "slave"
	source := fields["master_host"] + ":" + fields["master_port"]
	if replica != w.replica {
		w.replica, w.roleAt, w.sourceAt = replica, now, now
	}
	if source != w.source {
		w.source, w.sourceAt = source, now
	}
	w.linked = fields["master_link_status"] == "up"
	w.offset, _ = strconv.ParseInt(fields["slave_repl_offset"], 10, 64)
	if s.tilt(now) || w == s.primary {
		return
	}
	f := &s.failover
	calm := func(wait time.Duration) bool {
		last := max(w.downAt, w.odownAt)
		return s.primaryLooksSane(now) && (last == 0 || now-last > wait)
	}
	switch {
	case !replica && w == f.promoted && f.state == waitPromotion:
		s.configEpoch = f.epoch
		f.state, f.changed = reconfReplicas, now
		for _, o := range s.peers { // tell all peers at once
			o.published = 0
		}
	case !replica && w != f.promoted && calm(4*sentinelPublish) && now-w.roleAt > 4*sentinelPublish:
		w.follow(s.primary.proc) // +convert-to-slave
	case replica && source != s.primary.proc.Addr() && f.state == noFailover &&
		calm(failoverTimeout) && now-w.sourceAt > failoverTimeout:
		w.follow(s.primary.proc) // +fix-slave-config
	}
	if replica && f.promoted != nil {
		if w.reconf == reconfSent && source == f.promoted.proc.Addr() {
			w.reconf = reconfUnderWay
		}
		if w.reconf == reconfUnderWay && w.linked {
			w.reconf = reconfDone
		}
	}
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

// A caller is the State of a connection that others have opened to a sentinel.
type caller struct {
	unread  []byte
	listens bool
}

// Open is called by the kernel.
func (s *Sentinel) Open(c *sim.Conn) {
	if l, ok := c.State.(line); ok {
		l.opened()
		return
	}
	c.State = &caller{}
}

// Closed is called by the kernel.
func (s *Sentinel) Closed(c *sim.Conn) {
	if l, ok := c.State.(line); ok {
		l.closed()
	}
	s.listeners = slices.DeleteFunc(s.listeners, func(o *sim.Conn) bool { return o == c })
}

// Receive is called by the kernel.
func (s *Sentinel) Receive(c *sim.Conn, data []byte) {
	if l, ok := c.State.(line); ok {
		l.receive(data)
		return
	}
	caller, ok := c.State.(*caller)
	if !ok {
		return
	}
	cmds, rest, err := engine.ParseCommands(append(caller.unread, data...))
	caller.unread = bytes.Clone(rest)
	var w engine.Replies
	for _, args := range cmds {
		s.answer(&w, c, caller, args)
	}
	if err != nil {
		w.Fail("ERR " + err.Error())
	}
	if len(w) > 0 {
		c.Write(w)
	}
	if err != nil {
		c.Close()
		s.listeners = slices.DeleteFunc(s.listeners, func(o *sim.Conn) bool { return o == c })
	}
}

func (s *Sentinel) answer(w *engine.Replies, c *sim.Conn, from *caller, args []string) {
	word := strings.ToUpper(args[0])
	if word == "SENTINEL" && len(args) > 1 {
		word += " " + strings.ToUpper(args[1])
	}
	switch {
	case word == "PING" && from.listens:
		w.Array(2)
		w.Bulk("pong")
		w.Bulk("")
	case word == "PING":
		w.Status("PONG")
	case word == "PUBLISH" && len(args) == 3:
		if args[1] != helloChannel {
			w.Fail("ERR Only HELLO messages are accepted by Sentinel instances.")
			return
		}
		s.hello(args[2])
		w.Integer(1)
	case word == "SUBSCRIBE" || word == "PSUBSCRIBE" || word == "UNSUBSCRIBE" || word == "PUNSUBSCRIBE":
		if strings.HasSuffix(word, "UNSUBSCRIBE") {
			from.listens = false
		} else if !from.listens {
			from.listens = true
			s.listeners = append(s.listeners, c)
		}
		for i, channel := range args[1:] {
			w.Array(3)
			w.Bulk(strings.ToLower(word))
			w.Bulk(channel)
			w.Integer(int64(i + 1))
		}
	case word == "SENTINEL GET-MASTER-ADDR-BY-NAME" && len(args) == 3:
		if args[2] != MasterName {
			w.NullArray(false)
			return
		}
		host, port, _ := strings.Cut(s.current().Addr(), ":")
		w.Array(2)
		w.Bulk(host)
		w.Bulk(port)
	case word == "SENTINEL IS-MASTER-DOWN-BY-ADDR" && len(args) == 6:
		s.answerState(w, args[2:])
	case (word == "SENTINEL SENTINELS" || word == "SENTINEL REPLICAS" || word == "SENTINEL SLAVES") && len(args) == 3:
		list := s.peers
		if word != "SENTINEL SENTINELS" {
			list = s.replicas
		}
		w.Array(len(list))
		for _, i := range list {
			host, port, _ := strings.Cut(i.proc.Addr(), ":")
			w.Array(8)
			for _, field := range []string{"name", i.proc.Name, "ip", host, "port", port, "flags", i.flags()} {
				w.Bulk(field)
			}
		}
	case word == "ROLE":
		w.Array(2)
		w.Bulk("sentinel")
		w.Array(1)
		w.Bulk(MasterName)
	case word == "CLIENT":
		w.Status("OK")
	default:
		w.Fail(engine.UnknownCommand(args))
	}
}

func (w *watched) flags() string {
	flags := "slave"
	if w.peer {
		flags = "sentinel"
	}
	if w.sdown {
		flags += ",s_down"
	}
	if !w.up {
		flags += ",disconnected"
	}
	return flags
}

// answerState is SENTINEL is-master-down-by-addr: host, port, epoch, and the candidate or "*".
func (s *Sentinel) answerState(w *engine.Replies, args []string) {
	epoch, _ := strconv.ParseInt(args[2], 10, 64)
	down, leader, leaderEpoch := int64(0), "*", int64(0)
	if s.primary.proc.Addr() == args[0]+":"+args[1] {
		if s.primary.sdown && !s.tilt(s.now()) {
			down = 1
		}
		if args[3] != "*" {
			leader, leaderEpoch = s.vote(epoch, args[3])
			if leader == "" {
				leader = "*"
			}
		}
	}
	w.Array(3)
	w.Integer(down)
	w.Bulk(leader)
	w.Integer(leaderEpoch)
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
