package nodes

import (
	"strconv"
	"strings"

	"lockstep/nodes/engine"
)

// refuses says why this node does not run a command; empty if it does. For EXEC it checks all queued commands.
func (b *bus) refuses(s *engine.Session, args []string) string {
	slot := -1
	keys := b.node.KeysOf(args)
	if strings.EqualFold(args[0], "EXEC") {
		for _, queued := range s.Queued() {
			keys = append(keys, b.node.KeysOf(queued)...)
		}
	}
	for _, key := range keys {
		if slot >= 0 && keySlot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
		slot = keySlot(key)
	}
	if slot < 0 {
		return ""
	}
	if b.down {
		return "CLUSTERDOWN The cluster is down"
	}
	if owner := b.owner[b.node.group.rangeOf(slot)]; owner != b.self {
		return "MOVED " + strconv.Itoa(slot) + " " + owner.node.Process.Addr()
	}
	return ""
}

// command replies to commands that only a node of a cluster has.
func (b *bus) command(s *engine.Session, word string, args []string) (reply []byte, ok bool) {
	var w engine.Replies
	switch {
	case word == "GOSSIP":
		if m := b.member(s.Client()); m != nil {
			return b.heard(m, args), true
		}
	case word == "CLUSTER" && len(args) == 2 && strings.EqualFold(args[1], "SLOTS"):
		w.Array(len(b.owner))
		for i, o := range b.owner {
			first, last := b.node.group.slots(i)
			serving := []*member{o}
			for _, m := range b.all() {
				if m.source == o && !m.failed {
					serving = append(serving, m)
				}
			}
			w.Array(2 + len(serving))
			w.Integer(int64(first))
			w.Integer(int64(last))
			for _, m := range serving {
				host, port := hostPort(m.node.Process)
				w.Array(3)
				w.Bulk(host)
				w.Integer(int64(port))
				w.Bulk(m.name())
			}
		}
		return w, true
	case word == "CLUSTER" && len(args) == 2 && strings.EqualFold(args[1], "MYID"):
		w.Bulk(b.self.name())
		return w, true
	case word == "CLUSTER" && len(args) == 2 && strings.EqualFold(args[1], "INFO"):
		state := "ok"
		if b.down {
			state = "fail"
		}
		w.Bulk("cluster_enabled:1\r\ncluster_state:" + state + "\r\ncluster_known_nodes:" + strconv.Itoa(len(b.all())) +
			"\r\ncluster_size:" + strconv.Itoa(b.size()) + "\r\ncluster_current_epoch:" + strconv.FormatInt(b.epoch, 10) + "\r\n")
		return w, true
	case word == "CLUSTER" && len(args) == 3 && strings.EqualFold(args[1], "KEYSLOT"):
		w.Integer(int64(keySlot(args[2])))
		return w, true
	default:
		if refusal := b.refuses(s, args); refusal != "" {
			s.Refused(args)
			w.Fail(refusal)
			return w, true
		}
	}
	return nil, false
}
