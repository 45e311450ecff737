package engine

import (
	"bytes"
	"slices"
	"strings"

	"lockstep/sim/history"
)

// Persistence is what a node writes to its disk, and when. It decides what it still has after a crash.
//
// A process that is killed loses nothing that it has written: the pages of the operating system outlive the process. The
// log is written before the reply is sent, unless an fsync is under way (see [AOFEverysecSlow]). A machine that loses power
// keeps what was written to the disk with fsync. An orderly stop (SIGTERM) keeps everything where there is a file to write
// it to.
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
	// A process that is killed loses nothing here: an fsync takes no time, and none is under way when a client is answered.
	//
	// Not simulated: a disk that takes longer than two seconds for an fsync, for which the log waits no longer; and the
	// operating system writing pages of its own accord after half a minute.
	AOFEverysec Persistence = "aof-everysec"
	// AOFEverysecSlow is AOFEverysec on a disk that takes half a second for an fsync.
	//
	// While an fsync is under way, redis-server does not write the log either, because write(2) would block on it:
	// flushAppendOnlyFile puts that off for up to two seconds, and clients are answered meanwhile. What they wrote is in the
	// memory of the process only. So one that is killed loses what was written since the fsync began, and a machine without
	// power that and what the fsync was for. The log is written when the fsync has ended: redis-server sees that at its next
	// event, at the latest after 100 ms, here at once. A stop in good order writes it, and waits for the disk. (On
	// redis-server 7.0.15, whose fdatasync was made to take 200 ms and more: DEL, which began an fsync; 103 ms later a SET that
	// was answered OK; 47 ms later kill -9. The SET was lost three times out of three. With 100 ms and less it was kept.)
	//
	// Not simulated: that one fsync takes longer than another. A clock that is set forward ends one early.
	AOFEverysecSlow Persistence = "aof-everysec-slow"
	// AOFAlways has an fsync before each reply.
	AOFAlways Persistence = "aof-always"
	// AOFLying is AOFAlways on a disk that lies: it acknowledges an fsync when the data are in its own cache, which has no
	// battery. (See why2020: that fsync saves all is naive; it is up to the system below.) Such a cache is
	// written out when the drive sees fit. Nothing can be relied on but what was there when the machine last got its power,
	// so this disk is as bad as it may be, and has that and nothing else after a power loss.
	AOFLying Persistence = "aof-lying"
)

// Persistences are all kinds.
var Persistences = []Persistence{NoPersistence, RDB, AOFEverysec, AOFEverysecSlow, AOFAlways, AOFLying}

// slowFsync is how long an fsync takes under AOFEverysecSlow, in milliseconds. A disk that others write to as well is often
// as slow, or slower: redis-server warns of one that takes two seconds ("Asynchronous AOF fsync is taking too long"). Half
// a second leaves as much of each second without an fsync, so that both can be told.
const slowFsync = 500

// Options configures a redis-server for a kind of persistence, as far as a machine that keeps its power can show it.
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

// Disk is what a node has written to its disk. For a real server it has only the log, which the server writes itself.
// Times are read from the wall clock of the node: in seconds since 1970 where Redis counts seconds, otherwise in
// milliseconds.
type Disk struct {
	kind Persistence
	exit Exit // of the process that has ended last

	// AOFEverysec and AOFEverysecSlow.
	log     []byte
	written int   // bytes of log that the operating system has
	synced  int   // bytes of log that are on the disk
	due     bool  // an fsync waits for the next second, or for the end of the last
	fsynced int64 // the second in which the last fsync began
	ends    int64 // the millisecond in which the fsync under way ends; 0: none is
	covers  int   // bytes of log that it is for

	// RDB: the last snapshot. AOFLying: what there was when the machine got its power.
	image []byte

	// RDB.
	changes int   // since the last snapshot
	saved   int64 // the second of the last snapshot, or of the start
	saveAt  int64 // the millisecond of the next snapshot; 0: none is due
}

// Forgets reports whether the node may be in an earlier state after a crash.
func (r *Redis) Forgets() bool { return r.disk.forgets() }

// NewDisk returns the disk of a node with this kind of persistence, before its first process starts.
func NewDisk(kind Persistence) Disk { return Disk{kind: kind} }

// Persist sets what the node writes down from now on. What it holds already is on the disk.
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

// Begin notes that a process starts at a time, in milliseconds, and what its log contains then.
func (d *Disk) Begin(log []byte, at int64) {
	d.start(at)
	d.log = log
	d.sync()
}

// Append notes what a process has appended to its log by a time, in milliseconds. It first does what was due before that
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

// Len is how long the log is, in bytes.
func (d *Disk) Len() int { return len(d.log) }

// End notes how the process has ended. It returns what is left on the disk for the next process; everything is true if
// nothing was lost.
func (d *Disk) End(how Exit) (left []byte, everything bool) {
	if d.exit = how; how == Stopped {
		d.sync()
	}
	return d.survives()
}

// Cuts reports whether a crash may cut off the end of the log.
func (d *Disk) Cuts() bool { return d.kind == AOFLying || d.Everysec() }

// logs says that the disk must be told of effects.
func (d *Disk) logs() bool { return d.kind == RDB || d.Everysec() }

// forgets says that a crash may bring back an earlier state.
func (d *Disk) forgets() bool { return d.logs() || d.kind == AOFLying }

// Everysec reports whether the log is synchronized every second.
func (d *Disk) Everysec() bool { return d.kind == AOFEverysec || d.kind == AOFEverysecSlow }

// start notes that a process starts with what there is.
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
			// The first run of serverCron in which more than so many seconds have passed.
			next := max((d.saved+p.seconds+1)*1000, (at/cronPeriod+1)*cronPeriod)
			if d.saveAt == 0 || next < d.saveAt {
				d.saveAt = next
			}
		}
	}
}

// cron does what is due by now.
func (d *Disk) cron(at int64, snapshot func() []byte) {
	d.flush(at)
	if d.saveAt != 0 && at >= d.saveAt {
		d.image, d.saved, d.changes, d.saveAt = snapshot(), at/1000, 0, 0
	}
}

// flush is flushAppendOnlyFile.
func (d *Disk) flush(at int64) {
	if d.ends != 0 {
		d.ends = min(d.ends, at+slowFsync) // a clock that was set back does not make it longer
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

// next is the millisecond in which cron has something to do; 0: never.
func (d *Disk) next() int64 {
	switch {
	case d.ends != 0:
		return d.ends
	case d.due:
		return (d.fsynced + 1) * 1000
	}
	return d.saveAt
}

// sync puts on the disk all that there is.
func (d *Disk) sync() {
	d.written, d.synced = len(d.log), len(d.log)
	d.due, d.ends = false, 0
}

// replace notes that the files were written anew, as after a full synchronization.
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

// survives returns what the disk has for the next process, unless that is everything.
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

// Crash ends the process. What it knew stays to be looked at until [Redis.Restart] says what became of it.
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
	r.tracking.reset()
	r.followers, r.waiters, r.wantAck = nil, nil, false

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

// expireUnseen removes keys whose deadline has passed, which nobody is told of.
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

// reportReload reports the difference between the keys of before and those of now. Gone is what happened to a key that is
// no longer there.
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
