package live

import (
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// observer sees what happens to the keys of a real server by comparing them before and after each command. Commands are carried
// out one at a time, so each difference has only one cause.
//
// A simulated node knows three things that an observer cannot see. The first is the order in which one command changed several
// keys: the observer reports them in the order of their names. The second is an intermediate state within one command, such as a
// hash that a script makes before it gives it a deadline. The third is that a script or a transaction set a value with NX: the
// value then stands for a lease only if it is a token.
type observer struct {
	server  *redisserver.Server
	report  func(engine.Change)
	keys    map[string]engine.Entry // as last read; deadlines by the wall clock of the node, with its jumps
	ahead   int64                   // how far the wall clock of the node is ahead of the server's clock, in milliseconds
	follows bool                    // the server is a replica, which lets no key expire
}

// look records what a command did. The cause is a Change that says which command it was, and whose.
func (o *observer) look(cause engine.Change) error {
	at, is, err := o.snapshot()
	if err != nil {
		return err
	}
	if err := o.seen(at, is); err != nil {
		return err
	}
	o.compare(at, is, cause)
	return nil
}

// seen adds to a snapshot the keys that the server hides.
func (o *observer) seen(at int64, is map[string]engine.Entry) error {
	if o.follows {
		return o.hidden(at, is)
	}
	return nil
}

// compare records the changes between the keys as last read and as they are at a time.
func (o *observer) compare(at int64, is map[string]engine.Entry, cause engine.Change) {
	// A key that expired since the last reading and was set again is reported as both.
	for _, name := range o.overdue(at) {
		if now, lives := is[name]; !lives || now.Value != o.keys[name].Value {
			o.drop(name, history.Expire)
		}
	}
	all := maps.Clone(o.keys)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if c := engine.Difference(name, o.keys[name], is[name]); c.Op != "" {
			c.By, c.NX, c.Command = cause.By, cause.NX, cause.Command
			o.report(c)
		}
	}
	o.keys = is
}

// expire records the keys that have expired by now. It need not ask the server: a key whose deadline nobody moved is gone, even
// if the server is paused and has not noticed.
func (o *observer) expire() {
	for _, name := range o.overdue(o.now()) {
		o.drop(name, history.Expire)
	}
}

// now returns the time of the node's wall clock, in milliseconds.
func (o *observer) now() int64 {
	t := time.Now()
	if k := o.server.Clock(); k != nil {
		t = t.Add(k.Lead(t))
	}
	return t.UnixMilli() + o.ahead
}

// overdue lists the keys that have expired.
func (o *observer) overdue(at int64) []string {
	if o.follows {
		return nil
	}
	return engine.Overdue(o.keys, at)
}

// next returns the time, by the machine's clock, at which expire should be called; the zero time means never.
func (o *observer) next() time.Time {
	var next int64
	for _, e := range o.keys {
		if o.follows {
			break
		}
		if e.Deadline != 0 && (next == 0 || e.Deadline < next) {
			next = e.Deadline
		}
	}
	if next == 0 {
		return time.Time{}
	}
	if k := o.server.Clock(); k != nil {
		return time.Now().Add(k.AtLeast(time.Duration(next+1-o.now()) * time.Millisecond))
	}
	return time.UnixMilli(next - o.ahead + 1) // a key lives through its last millisecond
}

// jump moves the wall clock of the node. It reports whether that affected any key.
func (o *observer) jump(by time.Duration) (felt bool, err error) {
	if by == 0 { // a primary without enough replicas accepts no write command, even if it changes nothing
		return false, nil
	}
	moved, err := o.server.Jump(by)
	if err != nil {
		return false, err
	}
	o.ahead += by.Milliseconds()
	o.expire()
	return moved > 0, nil
}

// restarted compares the keys after a crash and a restart, and returns a function that records the changes. A key that has
// expired meanwhile is not lost, even if the disk lost it. Effects of a command whose reply the crash cut off are seen only now.
func (o *observer) restarted() (report func(), err error) {
	at, is, err := o.snapshot()
	if err != nil {
		return nil, err
	}
	if err := o.seen(at, is); err != nil {
		return nil, err
	}
	return func() {
		for _, name := range slices.Sorted(maps.Keys(o.keys)) {
			if _, lives := is[name]; !lives && !o.over(name) {
				o.drop(name, history.Lose)
			}
		}
		o.compare(at, is, engine.Change{})
	}, nil
}

func (o *observer) over(name string) bool {
	deadline := o.keys[name].Deadline
	return deadline != 0 && o.now() > deadline
}

// drop records the end of a key that no client caused.
func (o *observer) drop(name, op string) {
	old := o.keys[name]
	delete(o.keys, name)
	o.report(old.Ended(op, name))
}

func (o *observer) snapshot() (at int64, keys map[string]engine.Entry, err error) {
	err = untilAnswered(func() error {
		at, keys, err = readKeys(o.server)
		return err
	})
	for name, e := range keys {
		if e.Deadline != 0 {
			e.Deadline += o.ahead
			keys[name] = e
		}
	}
	return at + o.ahead, keys, err
}

// overdueKeys counts the keys that have expired but that a replica still has. To clients the replica answers as if they were gone.
var overdueKeys = redis.NewScript(`return redis.call('DBSIZE') - #redis.call('KEYS', '*')`)

// hidden adds to the keys of a replica those that have expired and that it keeps until its primary deletes them. If the primary has
// deleted only some of them, all of them count as there until the last is deleted.
func (o *observer) hidden(at int64, is map[string]engine.Entry) error {
	var missing []string
	for _, name := range engine.Overdue(o.keys, at) {
		if _, lives := is[name]; !lives {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	kept, err := o.server.Run(overdueKeys).Int()
	if err != nil || kept == 0 {
		return err
	}
	for _, name := range missing {
		is[name] = o.keys[name]
	}
	return nil
}

// rebase converts the deadlines of the keys to another clock. It changes no instant.
func (o *observer) rebase(ahead time.Duration) {
	by := ahead.Milliseconds() - o.ahead
	o.ahead += by
	for name, e := range o.keys {
		if e.Deadline != 0 {
			e.Deadline += by
			o.keys[name] = e
		}
	}
}
