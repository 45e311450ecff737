package nodes

import (
	"bytes"
	"slices"
	"strings"

	"lockstep/sim"
)

// Persistence is what a node writes to its disk, and when. It decides what it still has after a crash.
//
// A process that is killed loses nothing that it has written: the log is written before the reply is sent, and the pages
// of the operating system outlive the process. A machine that loses power keeps what was written to the disk with fsync.
// An orderly stop (SIGTERM) keeps everything where there is a file to write it to.
type Persistence string

// The kinds of persistence. The zero value is AOFAlways.
const (
	// NoPersistence is --save "" --appendonly no: a restarted node is empty.
	NoPersistence Persistence = "none"
	// RDB writes snapshots by the save points of redis-server 7 (3600 1, 300 100, 60 10000), and at an orderly stop.
	RDB Persistence = "rdb"
	// AOFEverysec logs every effect, and has an fsync at most once a second.
	//
	// It follows flushAppendOnlyFile in src/aof.c of Redis 7.0. The clock is server.unixtime, the whole second of the wall
	// clock. After each write: if this second has had no fsync yet, there is one, in the background and here in no time. So
	// the first write after an idle second is safe at once. If it has had one, the write waits for the next second;
	// serverCron sees it begin, at the latest 100 ms after it did, here at once. (On redis-server 7.0.15, writes at .300, .310
	// and .900 of a second had an fdatasync at .300 and one 39 ms into the next, after which another write had to wait for
	// the second after that.) A clock that is set back puts off the next fsync until it is where it was.
	//
	// Not simulated: a disk that takes longer than a second for an fsync, which can cost two seconds of writes; and the
	// operating system writing pages of its own accord after half a minute.
	AOFEverysec Persistence = "aof-everysec"
	// AOFAlways has an fsync before each reply.
	AOFAlways Persistence = "aof-always"
	// AOFLying is AOFAlways on a disk that lies: it acknowledges an fsync when the data are in its own cache, which has no
	// battery. (See 002_f1b5c80bdb6cfae4: that fsync saves all is naive; it is up to the system below.) Such a cache is
	// written out when the drive sees fit. Nothing can be relied on but what was there when the machine last got its power,
	// so this disk is as bad as it may be, and has that and nothing else after a power loss.
	AOFLying Persistence = "aof-lying"
)

// Persistences are all kinds.
var Persistences = []Persistence{NoPersistence, RDB, AOFEverysec, AOFAlways, AOFLying}

// options configures a redis-server for a kind of persistence, as far as a machine that keeps its power can show it.
func (k Persistence) options() []string {
	switch k {
	case NoPersistence:
		return []string{"--appendonly", "no"}
	case RDB:
		return []string{"--appendonly", "no", "--save", "3600 1 300 100 60 10000"}
	case AOFEverysec:
		return []string{"--appendfsync", "everysec"}
	default:
		return []string{"--appendfsync", "always"}
	}
}

// An Exit is how the process of a node ends.
type Exit int

// The ends of a process.
const (
	Killed    Exit = iota // kill -9
	PowerLost             // the machine goes down with it
	Stopped               // SIGTERM
)

// savePoints are those of redis-server 7: after so many seconds, if there were so many changes.
var savePoints = []struct {
	seconds int64
	changes int
}{{3600, 1}, {300, 100}, {60, 10000}}

// cronPeriod is how often serverCron runs, in milliseconds.
const cronPeriod = 100

// disk is what a node has written down. Times are of the wall clock of the node: seconds since 1970 where Redis counts
// those, else milliseconds.
type disk struct {
	kind Persistence
	exit Exit // of the process that has ended last

	// AOFEverysec.
	log     []byte
	synced  int   // bytes of log that are on the disk
	due     bool  // an fsync waits for the next second
	fsynced int64 // the second of the last fsync

	// RDB: the last snapshot. AOFLying: what there was when the machine got its power.
	image []byte

	// RDB.
	changes int   // since the last snapshot
	saved   int64 // the second of the last snapshot, or of the start
	saveAt  int64 // the millisecond of the next snapshot; 0: none is due
}

// Persist sets what the node writes down from now on. What it holds already is on the disk.
func (r *Redis) Persist(kind Persistence) {
	if kind == "" {
		kind = AOFAlways
	}
	if !slices.Contains(Persistences, kind) {
		panic("nodes: no persistence " + string(kind))
	}
	at := r.now().UnixMilli()
	r.disk = disk{kind: kind}
	r.disk.start(at)
	if len(r.keys) > 0 {
		r.disk.replace(r.Snapshot(), at)
		r.disk.image = r.Snapshot()
	}
	r.Stream(r.effects.stream)
}

// logs says that the disk must be told of effects.
func (d *disk) logs() bool { return d.kind == RDB || d.kind == AOFEverysec }

// forgets says that a crash may bring back an earlier state.
func (d *disk) forgets() bool { return d.kind == RDB || d.kind == AOFEverysec || d.kind == AOFLying }

// start notes that a process starts with what there is.
func (d *disk) start(at int64) {
	d.saved, d.changes, d.saveAt = at/1000, 0, 0
	d.fsynced, d.due = at/1000, false
}

// write notes a unit of n effects.
func (d *disk) write(unit []byte, n int, at int64) {
	switch d.kind {
	case AOFEverysec:
		d.log = append(d.log, unit...)
		d.due = true
		d.cron(at, nil)
	case RDB:
		d.changes += n
		for _, p := range savePoints {
			if d.changes < p.changes {
				continue
			}
			// The first run of serverCron in which more than so many seconds have passed.
			next := max((d.saved+p.seconds+1)*1000, (at/cronPeriod+1)*cronPeriod)
			if d.saveAt == 0 || next < d.saveAt {
				d.saveAt = next
			}
		}
	}
}

// cron does what is due by now.
func (d *disk) cron(at int64, snapshot func() []byte) {
	if d.due && at/1000 > d.fsynced {
		d.synced, d.fsynced, d.due = len(d.log), at/1000, false
	}
	if d.saveAt != 0 && at >= d.saveAt {
		d.image, d.saved, d.changes, d.saveAt = snapshot(), at/1000, 0, 0
	}
}

// next is the millisecond in which cron has something to do; 0: never.
func (d *disk) next() int64 {
	if d.due {
		return (d.fsynced + 1) * 1000
	}
	return d.saveAt
}

// replace notes that the files were written anew, as after a full synchronization.
func (d *disk) replace(snapshot []byte, at int64) {
	switch d.kind {
	case AOFEverysec:
		d.log = bytes.Clone(snapshot)
		d.synced, d.fsynced, d.due = len(d.log), at/1000, false
	case RDB:
		d.image = bytes.Clone(snapshot)
		d.start(at)
	}
}

// survives returns what the disk has for the next process, unless that is everything.
func (d *disk) survives() (image []byte, everything bool) {
	switch {
	case d.kind == NoPersistence:
		return nil, false
	case d.kind == RDB && d.exit != Stopped:
		return d.image, false
	case d.kind == AOFEverysec && d.exit == PowerLost:
		d.log = d.log[:d.synced]
		return d.log, false
	case d.kind == AOFLying && d.exit == PowerLost:
		return d.image, false
	}
	return nil, true
}

// Crash ends the process. What it knew stays to be looked at until [Redis.Restart] says what became of it.
func (r *Redis) Crash(how Exit) {
	d := &r.disk
	d.exit = how
	if how == Stopped {
		d.synced = len(d.log)
		if d.kind == RDB {
			d.image = r.Snapshot()
		}
	}
	d.due, d.saveAt = false, 0
}

// Restart starts another process in the place of the last, with what that left on the disk (see [Redis.Persist]) or, if
// it restarts empty, on another disk. Connections and loaded scripts are gone. Call it when the node comes up again: keys
// whose deadline passed while it was down have expired, and are not lost. A replica is still a replica, as with a line in
// its configuration, but has lost its link.
func (r *Redis) Restart(empty bool) {
	r.process++
	r.clients = 0
	clear(r.scripts)
	r.closeLua()
	r.effects.offset, r.linked, r.unread = 0, false, nil
	r.followers, r.waiters, r.wantAck = nil, nil, false

	r.begin("", "")
	d := &r.disk
	d.start(r.at)
	r.expire()
	image, everything := d.survives()
	if empty {
		image, everything = nil, false
		d.log, d.image, d.synced = nil, nil, 0
	}
	if !everything {
		old := r.reload(image)
		r.expireUnseen()
		r.reportReload(old, sim.Lose)
	}
	d.exit = Killed
}

// expireUnseen removes keys whose deadline has passed, which nobody is told of.
func (r *Redis) expireUnseen() {
	if r.primary != "" {
		return
	}
	for _, name := range overdue(r.keys, r.at) {
		r.db.Del(name)
		delete(r.keys, name)
		r.stale = true
	}
}

// reportReload reports the difference between the keys of before and those of now. Gone is what happened to a key that is
// no longer there.
func (r *Redis) reportReload(old map[string]entry, gone string) {
	names := r.names()
	for name := range old {
		if _, ok := r.keys[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		c := difference(name, old[name], r.keys[name])
		if c.Op == "" {
			continue
		}
		if c.Op == sim.Delete {
			c.Op = gone
		}
		c.By, c.Command = r.by, r.word
		r.report(c)
	}
}
