package nodes

import (
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// election is an election in which a replica stands.
type election struct {
	at    time.Duration // failover_auth_time: when to ask for votes; 0: never
	sent  bool
	epoch int64
	rank  int
	votes []*member
}

// votes is clusterSendFailoverAuthIfNeeded: whether this primary votes for a replica that wants to replace its primary.
func (b *bus) votes(candidate *member, epoch, config int64, slots string, now time.Duration) bool {
	p := candidate.source
	if !b.self.serves() || epoch < b.epoch || b.voteIn == b.epoch || p == nil || !p.failed ||
		p.votedAt != 0 && now-p.votedAt < 2*b.timeout() {
		return false
	}
	for i, o := range b.owner {
		first, _ := b.node.group.slots(i)
		if strings.Contains(","+slots, ","+strconv.Itoa(first)+"-") && o.epoch > config {
			return false
		}
	}
	p.votedAt, b.voteIn = now, b.epoch
	return true
}

// standForElection is clusterHandleSlaveFailover.
func (b *bus) standForElection(now time.Duration) {
	p, e := b.self.source, &b.election
	if p == nil || !p.failed || !p.serves() {
		return
	}
	timeout := max(2*b.timeout(), 2*time.Second)
	switch {
	case e.at == 0 || now-e.at > 2*timeout:
		*e = election{rank: b.rank()}
		e.at = now + 500*time.Millisecond + time.Duration(b.random.IntN(500))*time.Millisecond + time.Duration(e.rank)*time.Second
		for _, m := range b.others { // so that the other replicas learn the offset
			if m.source == p && m.up {
				m.send("PONG")
			}
		}
		return
	case !e.sent:
		if rank := b.rank(); rank > e.rank {
			e.at += time.Duration(rank-e.rank) * time.Second
			e.rank = rank
		}
	}
	switch {
	case now < e.at || now-e.at > timeout:
	case !e.sent:
		b.epoch++
		e.epoch, e.sent = b.epoch, true
		b.broadcast("VOTE")
	case len(e.votes) >= b.majority():
		b.note(history.Leader, p)
		b.node.promote()
		b.replace(p, max(b.self.epoch, e.epoch))
	}
}

// rank returns how many other replicas of the same primary have more of its data.
func (b *bus) rank() (n int) {
	for _, m := range b.others {
		if m.source == b.self.source && m.offset > b.node.Offset() {
			n++
		}
	}
	return n
}

// replace is clusterFailoverReplaceYourMaster.
func (b *bus) replace(p *member, epoch int64) {
	b.self.source, b.self.epoch, b.election = nil, epoch, election{}
	for i, o := range b.owner {
		if o == p {
			b.owner[i] = b.self
		}
	}
	b.updateState(b.now())
	b.broadcast("PONG")
}

// takeOver is CLUSTER FAILOVER TAKEOVER after a promotion: without votes.
func (b *bus) takeOver() {
	if p := b.self.source; p != nil {
		b.epoch++
		b.replace(p, b.epoch)
	}
}
