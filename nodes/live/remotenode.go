package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// RemoteCluster is a [Cluster] on servers that Lockstep has not started. The caller must end it with [RemoteCluster.End].
type RemoteCluster struct {
	*Cluster
	nodes []*remoteNode
}

// OpenRemote begins a run on servers that Lockstep has not started, one for each name. All keys get a prefix, and no key of the
// servers may have it yet. The last name may share the server of the one before it. The run ends with ctx.
func OpenRemote(ctx context.Context, names []string, servers Remotes, prefix string) (*RemoteCluster, error) {
	l := &RemoteCluster{Cluster: newCluster(ctx)}
	for i, name := range names {
		n := l.add(name, servers[i], prefix)
		err := n.remote.claim(ctx, n.client, n.keyPrefix.prefix)
		if err == nil {
			err = n.setClock(ctx)
		}
		if err != nil {
			l.Close()
			l.hangUp()
			return nil, err
		}
	}
	context.AfterFunc(l.ctx, l.halt)
	l.start = time.Now()
	l.work.Go(l.agenda.run)
	l.work.Go(l.watchForStalls)
	return l, nil
}

func (l *RemoteCluster) add(name string, r Remote, prefix string) *remoteNode {
	n := &remoteNode{
		realNode:  realNode{c: l.Cluster, name: name, owners: engine.Owners{}, marks: map[[2]string]engine.Owner{}},
		remote:    r,
		client:    redis.NewClient(r.options),
		keyPrefix: keyPrefix{prefix + name + ":", r.options.DB},
		keys:      map[string]engine.Entry{},
		named:     map[string]bool{},
	}
	n.alarm = time.AfterFunc(time.Hour, n.ring)
	n.alarm.Stop()
	n.proxy = l.serve(name, n)
	l.nodes = append(l.nodes, n)
	return n
}

// End ends the run and removes its keys, even if the run has failed. The error is a [*LeftKeysError] if keys could not be removed.
// It is another one if the lock made keys that no command names, so that the history lacks them.
func (l *RemoteCluster) End() error {
	l.Close()
	defer l.hangUp()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), scanLimit)
	defer cancel()
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.clear(ctx))
	}
	return errors.Join(errs...)
}

func (l *RemoteCluster) hangUp() {
	for _, n := range l.nodes {
		n.client.Close()
	}
}

// remoteNode is somebody else's Redis server behind a proxy. It is a [realNode] whose keys have a prefix, because others may have
// keys on the server too. It looks only at keys that a command of the run has named.
type remoteNode struct {
	realNode
	remote    Remote
	client    *redis.Client // our own, with which we look at keys
	keyPrefix keyPrefix
	ahead     time.Duration // how far the server's clock is ahead of ours

	// Guarded by Proxy.serving.
	stopped bool
	named   map[string]bool         // keys without the prefix
	keys    map[string]engine.Entry // as last seen, deadlines by the server's clock
}

// setClock measures how far the server's clock is ahead of ours: deadlines are in its time, the history is in ours.
func (n *remoteNode) setClock(ctx context.Context) error {
	best := time.Duration(-1)
	for range 5 {
		asked := time.Now()
		at, err := n.client.Time(ctx).Result()
		if err != nil {
			return n.remote.plight(err)
		}
		if took := time.Since(asked); best < 0 || took < best {
			best, n.ahead = took, at.Sub(asked.Add(took/2))
		}
	}
	return nil
}

func (n *remoteNode) connect() (io.ReadWriteCloser, error) {
	d, err := n.remote.dial(n.c.ctx)
	if err != nil {
		return nil, n.remote.plight(err)
	}
	d.replies = bufio.NewReader(&replyReader{keyPrefix: n.keyPrefix, from: d.replies})
	return d, nil
}

var errEnded = errors.New("the run on this server has ended")

// serve has the server run a command. It also reads the keys before the command: what has changed since the last reading was
// changed by somebody else.
func (n *remoteNode) serve(r *relay, m *message) (reply []byte, err error) {
	if n.stopped {
		return nil, errEnded
	}
	if len(m.cmd) == 0 {
		return nil, nil
	}
	word := strings.ToUpper(m.cmd[0])
	theirs, keys, refusal := n.keyPrefix.add(m.cmd)
	if refusal != "" {
		if pushes(word) {
			n.refused(r.client.name, word)
		}
		return []byte("-" + refusal + "\r\n"), nil
	}
	for _, k := range keys {
		n.named[k] = true
	}
	if err := n.look(nil); err != nil {
		return nil, err
	}
	n.relay, n.request = r, m
	defer func() { n.relay, n.request = nil, nil }()
	if err := proto.Write(r.up, theirs); err != nil {
		return nil, n.remote.plight(bare(err))
	}
	d := r.up.(*duplex)
	d.listen.Do(func() { n.c.work.Go(func() { n.hear(r, d) }) })
	limit := time.NewTimer(remoteLimit)
	defer limit.Stop()
	var text string
	n.timed(word, func() {
		select {
		case answer, ok := <-d.answers:
			if text = answer; !ok {
				err = fmt.Errorf("no reply to %s: %w", word, bare(d.err))
			}
		case <-limit.C:
			err = fmt.Errorf("no reply to %s within %v", word, remoteLimit)
		}
	})
	if err != nil {
		return nil, n.remote.plight(err)
	}
	if err := n.look(&engine.Change{By: r.client.name, NX: engine.TakesNX(m.cmd), Command: word}); err != nil {
		return nil, err
	}
	n.setAlarm()
	return []byte(text), nil
}

// lookOn is snapshot for the keys that it is given. It only reads them.
var lookOn = redis.NewScript(readKey + `
	local time = redis.call('TIME')
	local all = {time[1] * 1000 + math.floor(time[2] / 1000)}
	for i, key in ipairs(KEYS) do
		local kind = redis.call('TYPE', key).ok
		if kind ~= 'none' then
			all[#all + 1] = i
			all[#all + 1] = kind
			all[#all + 1] = read(kind, key)
			all[#all + 1] = redis.call('PEXPIRETIME', key)
		end
	end
	return all`)

// snapshot returns those of the named keys that exist, and the time of the server.
func (n *remoteNode) snapshot() (at int64, keys map[string]engine.Entry, err error) {
	ctx, cancel := context.WithTimeout(n.c.ctx, remoteLimit)
	defer cancel()
	names := slices.Sorted(maps.Keys(n.named))
	all, err := lookOn.RunRO(ctx, n.client, n.theirs(names)).Slice()
	if err != nil {
		return 0, nil, n.remote.plight(fmt.Errorf("cannot look at the keys: %w", bare(err)))
	}
	keys = map[string]engine.Entry{}
	at, all = all[0].(int64), all[1:]
	for ; len(all) > 0; all = all[4:] {
		name := names[all[0].(int64)-1]
		keys[name] = readEntry(name, all[1:4])
	}
	return at, keys, nil
}

func (n *remoteNode) theirs(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = n.keyPrefix.prefix + name
	}
	return all
}

// look reports what has become of the keys: some have expired, and a command has changed the others. A change without a command
// was made by somebody else, or the server has evicted a key; then it returns an error.
func (n *remoteNode) look(cause *engine.Change) error {
	if len(n.named) == 0 {
		return nil
	}
	at, is, err := n.snapshot()
	if err != nil {
		return err
	}
	for _, name := range engine.Overdue(n.keys, at) {
		if now, lives := is[name]; !lives || now.Value != n.keys[name].Value {
			old := n.keys[name]
			delete(n.keys, name)
			n.report(old.Ended(history.Expire, name))
		}
	}
	all := maps.Clone(n.keys)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := engine.Difference(name, n.keys[name], is[name])
		if c.Op == "" {
			continue
		}
		if cause == nil {
			return fmt.Errorf("%s: the key %s was changed, and not by a command of this run: it was evicted, or somebody else has changed it", n.remote, n.keyPrefix.prefix+name)
		}
		c.By, c.NX, c.Command = cause.By, cause.NX, cause.Command
		n.report(c)
	}
	n.keys = is
	return nil
}

// report calls changed with times of the server's clock.
func (n *remoteNode) report(c engine.Change) {
	for _, t := range []*time.Time{&c.Deadline, &c.OldDeadline} {
		if !t.IsZero() {
			*t = t.Add(-n.ahead)
		}
	}
	n.changed(c)
}

// ring looks at the keys when the next one should have expired.
func (n *remoteNode) ring() {
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	if n.stopped || n.c.ctx.Err() != nil {
		return
	}
	if err := n.look(nil); err != nil {
		n.c.fail(fmt.Errorf("%s: %w", n.name, err))
		return
	}
	n.setAlarm()
}

// ringAgain is how soon ring looks again at a key that lives a little longer than our clock says.
const ringAgain = 5 * time.Millisecond

func (n *remoteNode) setAlarm() {
	n.alarm.Stop()
	next := int64(0)
	for _, e := range n.keys {
		if e.Deadline != 0 && (next == 0 || e.Deadline < next) {
			next = e.Deadline
		}
	}
	if next != 0 {
		n.alarm.Reset(max(ringAgain, time.Until(time.UnixMilli(next+1).Add(-n.ahead))))
	}
}

// stop waits for the command in progress, and allows no other.
func (n *remoteNode) stop() {
	n.alarm.Stop()
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	n.stopped = true
}

// clear removes the keys. A command whose connection broke may still reach the server, so the known keys are removed first, and
// then all that have the prefix.
func (n *remoteNode) clear(ctx context.Context) error {
	prefix := n.keyPrefix.prefix
	known := slices.Sorted(maps.Keys(n.named))
	err := unlink(ctx, n.client, n.theirs(known))
	var more []string
	if err == nil {
		more, err = scan(ctx, n.client, prefix)
	}
	if err == nil {
		err = unlink(ctx, n.client, more)
	}
	if err != nil {
		return &LeftKeysError{prefix, n.remote, bare(err)}
	}
	for _, key := range more {
		if name := strings.TrimPrefix(key, prefix); !n.named[name] {
			return fmt.Errorf("%s: the lock made a key %q that no command names, so Lockstep could not watch it; a script must name its keys in KEYS", n.name, name)
		}
	}
	return nil
}
