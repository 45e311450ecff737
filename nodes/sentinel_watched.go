package nodes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
	"lockstep/sim/history"
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
