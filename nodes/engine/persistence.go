package engine

import (
	"bytes"
	"slices"
	"strings"

	"lockstep/sim/history"
)

// Persistence is what a node writes to its disk, and when. It determines which keys the node has after a crash.
//
// A process that is killed loses nothing that it has written: the page cache of the operating system outlives the process. The
// log is written before the reply is sent, unless an fsync is in progress (see [AOFEverysecSlow]). After a power loss a machine
// has what fsync has put on its disk. An orderly stop (SIGTERM) keeps everything, provided that there is a file to write it to.
type Persistence string

// The kinds of persistence. The zero value is AOFAlways.
const (
	// NoPersistence is --save "" --appendonly no: a restarted node is empty.
	NoPersistence Persistence = "none"
	// RDB writes snapshots at the default save points of redis-server 7 (3600 1, 300 100, 60 10000), and at an orderly stop.
	RDB Persistence = "rdb"
	// AOFEverysec logs every effect, and calls fsync at most once a second.
	//
	// It follows flushAppendOnlyFile in src/aof.c of Redis 7.0. The clock is server.unixtime, the whole second of the wall
	// clock. If there has been no fsync in this second yet, a write starts one: in the background in redis-server, here at once.
	// So the first write after an idle second is safe immediately. Otherwise the write waits for the next second. In
	// redis-server, serverCron notices the new second after at most 100 ms; here it happens at once. (On redis-server 7.0.15,
	// writes at .300, .310 and .900 of a second led to an fdatasync at .300 and one 39 ms into the next second; the next write
	// then had to wait for the second after that.) If the clock is set back, there is no fsync until it has caught up.
	//
	// A process that is killed loses nothing here: an fsync takes no time, so none is in progress when a client gets its reply.
	//
	// Not simulated: a disk on which an fsync takes longer than two seconds, in which case redis-server no longer waits for it
	// to write the log; and the operating system, which writes dirty pages to the disk by itself after half a minute.
	AOFEverysec Persistence = "aof-everysec"
	// AOFEverysecSlow is AOFEverysec on a disk on which an fsync takes half a second.
	//
	// While an fsync is in progress, redis-server does not write the log either, because write(2) would block:
	// flushAppendOnlyFile postpones the write by up to two seconds, and clients get their replies meanwhile. Until then, what
	// they wrote is only in the memory of the process. So a process that is killed loses what was written since the fsync began.
	// A machine that loses power also loses what the fsync was to save. The log is written when the fsync has ended:
	// redis-server notices that at its next event, after at most 100 ms; here it happens at once. An orderly stop writes the log
	// and waits for the disk. (On redis-server 7.0.15, with fdatasync slowed down to 200 ms and more: a DEL began an fsync, a
	// SET 103 ms later was answered OK, and kill -9 came 47 ms after that. The SET was lost three times out of three. With 100
	// ms and less it was kept.)
	//
	// Not simulated: variation in the time that an fsync takes. A clock that is set forward ends an fsync early.
	AOFEverysecSlow Persistence = "aof-everysec-slow"
	// AOFAlways calls fsync before each reply.
	AOFAlways Persistence = "aof-always"
	// AOFLying is AOFAlways on a disk that lies: it acknowledges an fsync when the data are in its cache, which has no battery
	// (see why2020). The drive writes out such a cache when it sees fit. Only what was there when the machine was last powered
	// on is certain to survive. This disk is the worst case: that is all that it has after a power loss.
	AOFLying Persistence = "aof-lying"
)

// Persistences lists all kinds.
var Persistences = []Persistence{NoPersistence, RDB, AOFEverysec, AOFEverysecSlow, AOFAlways, AOFLying}

// slowFsync is how long an fsync takes under AOFEverysecSlow, in milliseconds. A disk with other load is often as slow, or
// slower: redis-server warns of one that takes two seconds ("Asynchronous AOF fsync is taking too long"). With half a second, an
// fsync is in progress for half of each second, so that both cases occur.
const slowFsync = 500

// Options returns the options of redis-server for a kind of persistence, as far as they matter on a machine that does not lose
// power.
func (k Persistence) Options() []string {
	switch k {
	case NoPersistence:
		return []string{"--appendonly", "no"}
	case RDB:
		return []string{"--appendonly", "no", "--save", "3600 1 300 100 60 10000"}
	case AOFEverysec, AOFEverysecSlow:
		return []string{"--appendfsync", "everysec"}
	default:
		return []string{"--appendfsync", "always"}
	}
}

// An Exit is the way in which the process of a node ends.
type Exit int

// The ways in which a process ends.
const (
	Killed    Exit = iota // kill -9
	PowerLost             // the machine loses power
	Stopped               // SIGTERM
)

// savePoints are those of redis-server 7: after this many seconds, if there were this many changes.
var savePoints = []struct {
	seconds int64
	changes int
}{{3600, 1}, {300, 100}, {60, 10000}}

// cronPeriod is the interval of serverCron, in milliseconds.
const cronPeriod = 100

// Disk is what a node has written to its disk. For a real server it holds only the log, which the server writes itself. Times are
// readings of the wall clock of the node: in seconds since 1970 where Redis counts seconds, otherwise in milliseconds.
type Disk struct {
	kind Persistence
	exit Exit // of the last process

	// AOFEverysec and AOFEverysecSlow.
	log     []byte
	written int   // bytes of the log that were written to the operating system
	synced  int   // bytes of log that are on the disk
	due     bool  // an fsync is waiting for the next second, or for the end of the last one
	fsynced int64 // the second in which the last fsync began
	ends    int64 // the millisecond in which the fsync in progress ends; 0 if there is none
	covers  int   // bytes of the log that it saves

	// RDB: the last snapshot. AOFLying: the data when the machine was powered on.
	image []byte

	// RDB.
	changes int   // since the last snapshot
	saved   int64 // the second of the last snapshot, or of the start
	saveAt  int64 // the millisecond of the next snapshot; 0 if none is due
}

// Forgets reports whether a crash may take the node back to an earlier state.
func (r *Redis) Forgets() bool { return r.disk.forgets() }

// NewDisk returns the disk of a node with this kind of persistence, before its first process starts.
func NewDisk(kind Persistence) Disk { return Disk{kind: kind} }

// Persist sets the kind of persistence. The present keys count as saved.
func (r *Redis) Persist(kind Persistence) {
	if kind == "" {
		kind = AOFAlways
	}
	if !slices.Contains(Persistences, kind) {
		panic("engine: no persistence " + string(kind))
	}
	at := r.now().UnixMilli()
	r.disk = Disk{kind: kind}
	r.disk.start(at)
	if len(r.keys) > 0 {
		r.disk.replace(r.Snapshot(), at)
		r.disk.image = r.Snapshot()
	}
	r.Stream(r.effects.stream)
}

// Begin notes that a process starts at a time in milliseconds, with this log.
func (d *Disk) Begin(log []byte, at int64) {
	d.start(at)
	d.log = log
	d.sync()
}

// Append notes what the process has appended to its log by a time in milliseconds. It first carries out what was due before that
// time.
func (d *Disk) Append(tail []byte, at int64) {
	for due := d.next(); due != 0 && due <= at; due = d.next() {
		d.cron(due, nil)
	}
	if len(tail) > 0 {
		d.log = append(d.log, tail...)
		d.due = d.Everysec()
	}
	d.cron(at, nil)
}

// Len is the length of the log in bytes.
func (d *Disk) Len() int { return len(d.log) }

// End notes how the process has ended. It returns what is left on the disk for the next process; everything is true if nothing
// was lost.
func (d *Disk) End(how Exit) (left []byte, everything bool) {
	if d.exit = how; how == Stopped {
		d.sync()
	}
	return d.survives()
}

// Cuts reports whether a crash may cut off the end of the log.
func (d *Disk) Cuts() bool { return d.kind == AOFLying || d.Everysec() }

// logs reports whether the disk records effects.
func (d *Disk) logs() bool { return d.kind == RDB || d.Everysec() }

// forgets reports whether a crash may bring back an earlier state.
func (d *Disk) forgets() bool { return d.logs() || d.kind == AOFLying }

// Everysec reports whether the log is synchronized every second.
func (d *Disk) Everysec() bool { return d.kind == AOFEverysec || d.kind == AOFEverysecSlow }

// start notes that a process starts with the present data.
func (d *Disk) start(at int64) {
	d.saved, d.changes, d.saveAt = at/1000, 0, 0
	d.fsynced, d.due, d.ends = at/1000, false, 0
}

// write notes a unit of n effects.
func (d *Disk) write(unit []byte, n int, at int64) {
	switch d.kind {
	case AOFEverysec, AOFEverysecSlow:
		d.log = append(d.log, unit...)
		d.due = true
		d.cron(at, nil)
	case RDB:
		d.changes += n
		for _, p := range savePoints {
			if d.changes < p.changes {
				continue
			}
			// The first run of serverCron after more than this many seconds.
			next := max((d.saved+p.seconds+1)*1000, (at/cronPeriod+1)*cronPeriod)
			if d.saveAt == 0 || next < d.saveAt {
				d.saveAt = next
			}
		}
	}
}

// cron carries out what is due by now.
func (d *Disk) cron(at int64, snapshot func() []byte) {
	d.flush(at)
	if d.saveAt != 0 && at >= d.saveAt {
		d.image, d.saved, d.changes, d.saveAt = snapshot(), at/1000, 0, 0
	}
}

// flush is flushAppendOnlyFile.
func (d *Disk) flush(at int64) {
	if d.ends != 0 {
		d.ends = min(d.ends, at+slowFsync) // a clock that was set back does not prolong it
		if at < d.ends {
			return
		}
		d.synced, d.ends = d.covers, 0
	}
	if !d.due {
		return
	}
	d.written = len(d.log)
	if at/1000 <= d.fsynced {
		return
	}
	d.covers, d.fsynced, d.due = d.written, at/1000, false
	if d.kind == AOFEverysecSlow {
		d.ends = at + slowFsync
		return
	}
	d.synced = d.covers
}

// next returns the millisecond in which cron has something to do; 0 means never.
func (d *Disk) next() int64 {
	switch {
	case d.ends != 0:
		return d.ends
	case d.due:
		return (d.fsynced + 1) * 1000
	}
	return d.saveAt
}

// sync saves the whole log to the disk.
func (d *Disk) sync() {
	d.written, d.synced = len(d.log), len(d.log)
	d.due, d.ends = false, 0
}

// replace notes that the files were rewritten, as after a full synchronization.
func (d *Disk) replace(snapshot []byte, at int64) {
	switch d.kind {
	case AOFEverysec, AOFEverysecSlow:
		d.log, d.fsynced = bytes.Clone(snapshot), at/1000
		d.sync()
	case RDB:
		d.image = bytes.Clone(snapshot)
		d.start(at)
	}
}

// survives returns what is on the disk for the next process, unless that is everything.
func (d *Disk) survives() (image []byte, everything bool) {
	switch {
	case d.kind == NoPersistence:
		return nil, false
	case d.kind == RDB && d.exit != Stopped:
		return d.image, false
	case d.Everysec() && d.exit == PowerLost:
		d.written = d.synced
		fallthrough
	case d.Everysec() && d.exit == Killed && d.written < len(d.log):
		d.log = d.log[:d.written]
		return d.log, false
	case d.kind == AOFLying && d.exit == PowerLost:
		return d.image, false
	}
	return nil, true
}

// Crash ends the process. Its keys can still be read until [Redis.Restart] determines which of them are left.
func (r *Redis) Crash(how Exit) {
	d := &r.disk
	d.exit = how
	if how == Stopped {
		d.sync()
		if d.kind == RDB {
			d.image = r.Snapshot()
		}
	}
	d.due, d.ends, d.saveAt = false, 0, 0
}

// Restart starts another process with what the last one has left on the disk (see [Redis.Persist]), or, if empty is true, with an
// empty disk. Connections and loaded scripts are gone. Call it when the node comes up again: keys whose deadline passed while it
// was down have expired, and are not lost. A replica is still a replica, as with a line in its configuration, but is no longer
// connected.
func (r *Redis) Restart(empty bool) {
	r.process++
	r.clients = 0
	clear(r.scripts)
	r.closeLua()
	r.effects.offset, r.linked, r.unread = 0, false, nil
	r.tracking.reset()
	r.pubsub.reset()
	r.waiting.reset()
	r.followers = nil

	r.begin("", "")
	d := &r.disk
	d.start(r.at)
	r.expire()
	image, everything := d.survives()
	if empty {
		image, everything = nil, false
		d.log, d.image, d.written, d.synced = nil, nil, 0, 0
	}
	if !everything {
		old := r.reload(image)
		r.expireUnseen()
		r.reportReload(old, history.Lose)
	}
	d.exit = Killed
}

// expireUnseen removes keys whose deadline has passed, without reporting them.
func (r *Redis) expireUnseen() {
	if r.primary != "" {
		return
	}
	for _, name := range Overdue(r.keys, r.at) {
		r.db.Del(name)
		delete(r.keys, name)
		r.stale = true
	}
}

// reportReload reports the difference between old and the present keys. Gone is what happened to a key that is no longer there.
func (r *Redis) reportReload(old map[string]Entry, gone string) {
	names := r.names()
	for name := range old {
		if _, ok := r.keys[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		c := Difference(name, old[name], r.keys[name])
		if c.Op == "" {
			continue
		}
		if c.Op == history.Delete {
			c.Op = gone
		}
		c.By, c.Command = r.by, r.word
		r.report(c)
	}
}
