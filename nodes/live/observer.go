package live

import (
	"maps"
	"slices"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// observer sees what happens to the keys of a real server, by comparing them before and after each command. It is told of
// every command, one at a time, so no difference has more than one cause.
//
// What a simulated node knows and an observer cannot see: the order in which one command changed several keys (it reports
// them in the order of their names), what was between two changes of a key by one command, such as a hash that a script makes
// and then gives an end, and that a value was set with NX in a script or a transaction, so that it stands for a lease only if it
// is a token.
type observer struct {
	server  *redisserver.Server
	report  func(engine.Change)
	keys    map[string]engine.Entry // as last seen; deadlines by the wall clock of the node, with its jumps
	ahead   int64                   // how far that is ahead of the server's clock, in milliseconds
	follows bool                    // it is that of a replica, which lets no key expire
}

// look reports what a command did. Cause is a Change that says whose command it was, and which.
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

// seen adds to a snapshot what the server hides from it.
func (o *observer) seen(at int64, is map[string]engine.Entry) error {
	if o.follows {
		return o.hidden(at, is)
	}
	return nil
}

// compare reports what has become of the keys, which are seen as they are at a time.
func (o *observer) compare(at int64, is map[string]engine.Entry, cause engine.Change) {
	// A key that came to its end between the last look and this one, and was taken again at once, did both.
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

// expire reports the keys that have come to their end by now. It need not ask the server: a key that nobody re-timed is
// gone, whether the server has noticed or, being paused, cannot.
func (o *observer) expire() {
	for _, name := range o.overdue(o.now()) {
		o.drop(name, history.Expire)
	}
}

// now is the wall clock of the node, in milliseconds.
func (o *observer) now() int64 {
	t := time.Now()
	if k := o.server.Clock(); k != nil {
		t = t.Add(k.Lead(t))
	}
	return t.UnixMilli() + o.ahead
}

// overdue lists the keys that have come to their end.
func (o *observer) overdue(at int64) []string {
	if o.follows {
		return nil
	}
	return engine.Overdue(o.keys, at)
}

// next returns the time, by the machine's clock, at which expire has something to do. The zero time is never.
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

// jump moves the wall clock of the node. It says whether any key was the worse, or the better, for it.
func (o *observer) jump(by time.Duration) (felt bool, err error) {
	if by == 0 { // a primary without enough replicas takes no write, not even one that changes nothing
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

// restarted returns what reports what a crash and a restart did. A key that came to its end meanwhile is not lost, whatever
// became of the disk. What a command did whose reply the crash cut off is seen only now.
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

// drop reports the end of a key that no client brought about.
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
