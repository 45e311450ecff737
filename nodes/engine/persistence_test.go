package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/sim/history"
)

// A mortal is a server that can end and restart: a node or a real server.
type mortal struct {
	testing.TB
	connect func() redistest.Conn
	end     func(Exit) // Killed or Stopped: a test cannot cut the power of a real machine
	restart func()
	pass    func(time.Duration)
}

// eight sets eight keys within a second, as a busy lock would.
func (m mortal) eight() {
	c := m.connect()
	for i := range 8 {
		redistest.Expect(m, c, fmt.Sprintf("SET k%d t%d PX 60000", i, i), "+OK")
	}
}

func (m mortal) expectKeys(n int) {
	m.Helper()
	redistest.Expect(m, m.connect(), "DBSIZE", fmt.Sprintf(":%d", n))
}

// writeDelay is how long a write may wait on a real disk that is not slow: for an fsync in progress, and for serverCron.
const writeDelay = 200 * time.Millisecond

// crashFacts must hold in every simulation of a crash. Each is tested on a node and on redis-server 7.0.15.
var crashFacts = []struct {
	name string
	kind Persistence
	show func(m mortal)
}{
	{"a process that is killed under everysec loses nothing", AOFEverysec, func(m mortal) {
		m.eight()
		m.pass(writeDelay)
		m.end(Killed)
		m.restart()
		m.expectKeys(8)
		redistest.Expect(m, m.connect(), "GET k7", "$2 t7")
	}},
	{"a process that is killed under always loses nothing", AOFAlways, func(m mortal) {
		m.eight()
		m.end(Killed)
		m.restart()
		m.expectKeys(8)
	}},
	{"a process that is killed loses what was written since the last snapshot", RDB, func(m mortal) {
		m.eight()
		m.end(Stopped) // a stop takes a snapshot
		m.restart()
		m.expectKeys(8)
		redistest.Expect(m, m.connect(), "SET k7 changed", "+OK")
		redistest.Expect(m, m.connect(), "SET new 1", "+OK")
		redistest.Expect(m, m.connect(), "DEL k0", ":1")
		m.end(Killed)
		m.restart()
		m.expectKeys(8)
		redistest.Expect(m, m.connect(), "GET k7", "$2 t7")
		redistest.Expect(m, m.connect(), "GET k0", "$2 t0")
		redistest.Expect(m, m.connect(), "GET new", "$-1")
	}},
	{"a process that is killed without persistence loses everything", NoPersistence, func(m mortal) {
		m.eight()
		m.end(Killed)
		m.restart()
		m.expectKeys(0)
	}},
	{"a process that is stopped without persistence loses everything", NoPersistence, func(m mortal) {
		m.eight()
		m.end(Stopped)
		m.restart()
		m.expectKeys(0)
	}},
	{"a process that is stopped under everysec loses nothing", AOFEverysec, func(m mortal) {
		m.eight()
		m.end(Stopped)
		m.restart()
		m.expectKeys(8)
	}},
	{"loaded scripts are gone", AOFAlways, func(m mortal) {
		c := m.connect()
		redistest.Expect(m, c, "SCRIPT LOAD return'x'", "$40 "+sha1Hex("return'x'"))
		redistest.Expect(m, c, "EVALSHA "+sha1Hex("return'x'")+" 0", "$1 x")
		m.end(Killed)
		m.restart()
		redistest.Expect(m, m.connect(), "EVALSHA "+sha1Hex("return'x'")+" 0", "-NOSCRIPT No matching script. Please use EVAL.")
	}},
	{"time passes while a server is down", AOFEverysec, func(m mortal) {
		c := m.connect()
		redistest.Expect(m, c, "SET short t PX 300", "+OK")
		redistest.Expect(m, c, "SET long t PX 60000", "+OK")
		end := c.Do("PEXPIRETIME", "long")
		m.pass(writeDelay)
		m.end(Killed)
		m.pass(150 * time.Millisecond)
		m.restart()
		c = m.connect()
		redistest.Expect(m, c, "GET short", "$-1")
		if got := c.Do("PEXPIRETIME", "long"); got != end {
			m.Errorf("the end of a key was %q, and is %q", end, got)
		}
	}},
	{"time passes in a snapshot, too", RDB, func(m mortal) {
		c := m.connect()
		redistest.Expect(m, c, "SET short t PX 1500", "+OK")
		redistest.Expect(m, c, "SET long t", "+OK")
		m.end(Stopped)
		m.restart()
		redistest.Expect(m, m.connect(), "PERSIST short", ":1")
		m.end(Killed)
		m.pass(1600 * time.Millisecond)
		m.restart()
		m.expectKeys(1)
	}},
}

func TestCrashesOfNodes(t *testing.T) {
	for _, fact := range crashFacts {
		t.Run(fact.name, func(t *testing.T) {
			r, clock := newNode(t)
			r.Persist(fact.kind)
			fact.show(mortal{
				TB: t, connect: func() redistest.Conn { return r.Connect("c1") }, end: r.Crash, restart: func() { r.Restart(false) },
				pass: clock.advance,
			})
		})
	}
}

func TestCrashesOfRedis(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	for _, fact := range crashFacts {
		t.Run(fact.name, func(t *testing.T) {
			t.Parallel()
			redistest.Steady(t, func(t testing.TB) {
				s := redistest.StartServer(t, t.Context(), fact.kind.Options()...)
				fact.show(mortal{
					TB: t, connect: func() redistest.Conn { return redistest.Dial(t, s.Addr()) }, pass: time.Sleep,
					end: func(how Exit) {
						if how == Stopped {
							if err := s.Process().Signal(syscall.SIGTERM); err != nil {
								t.Fatal(err)
							}
							<-s.Exited()
							return
						}
						s.Crash()
					},
					restart: func() {
						if err := s.Restart(false); err != nil {
							t.Fatal(err)
						}
					},
				})
			})
		})
	}
}

// TestPowerLoss checks which of the writes at given times each kind of persistence keeps. The process starts on a whole second.
func TestPowerLoss(t *testing.T) {
	for _, test := range []struct {
		name string
		kind Persistence
		run  string // with times in milliseconds: "set K" writes the key; "power" and "kill" end the process
		want string // the keys that remain
	}{
		{"always keeps everything", AOFAlways, "0 a; 1 b; 1 power", "a b"},
		{"nothing is kept", NoPersistence, "0 a; 5000 b; 9000 power", ""},
		{"the second in which the process started has had its fsync", AOFEverysec, "100 a; 999 power", ""},
		{"the next second brings another", AOFEverysec, "100 a; 1000 power", "a"},
		{"a write after an idle second is safe at once", AOFEverysec, "5300 a; 5300 power", "a"},
		{"a second one in the same second is not", AOFEverysec, "5300 a; 5301 b; 5999 power", "a"},
		{"but is in the next", AOFEverysec, "5300 a; 5301 b; 6000 power", "a b"},
		{"an fsync for what was left counts as one of its second", AOFEverysec, "5300 a; 5301 b; 6100 c; 6900 power", "a b"},
		{"whose writes are safe a second later", AOFEverysec, "5300 a; 5301 b; 6100 c; 7000 power", "a b c"},
		{"the first write of each second is safe", AOFEverysec, "1999 a; 2000 b; 2001 c; 2002 power", "a b"},
		{"nothing is lost by a crash of the process alone", AOFEverysec, "100 a; 101 b; 102 kill", "a b"},
		{"what was in the page cache is not safe because the process was killed", AOFEverysec, "100 a; 200 kill; 300 power", ""},
		{"but is, once the next process had an fsync", AOFEverysec, "100 a; 200 kill; 1200 b; 1300 power", "a b"},
		{"a stop has an fsync", AOFEverysec, "100 a; 200 stop; 300 power", "a"},
		{"a clock that is set back puts it off", AOFEverysec, "5300 a; 5400 back; 5500 b; 9000 power", "a"},
		{"until it is where it was", AOFEverysec, "5300 a; 5400 back; 5500 b; 16000 power", "a b"},
		{"while a slow fsync is under way nothing is written", AOFEverysecSlow, "5300 a; 5403 b; 5450 kill", "a"},
		{"nor just before its end", AOFEverysecSlow, "5300 a; 5403 b; 5500 c; 5799 kill", "a"},
		{"then everything is", AOFEverysecSlow, "5300 a; 5403 b; 5500 c; 5800 kill", "a b c"},
		{"a stop writes it, too", AOFEverysecSlow, "5300 a; 5403 b; 5450 stop; 5460 power", "a b"},
		{"where no fsync is under way a write is at once", AOFEverysecSlow, "5300 a; 5801 b; 5801 kill", "a b"},
		{"what a slow fsync is for is safe at its end", AOFEverysecSlow, "5300 a; 5403 b; 5800 power", "a"},
		{"and not before", AOFEverysecSlow, "5300 a; 5403 b; 5799 power", ""},
		{"what it kept waiting has its fsync in the next second", AOFEverysecSlow, "5300 a; 5403 b; 6500 power", "a b"},
		{"which takes as long", AOFEverysecSlow, "5300 a; 5403 b; 6499 power", "a"},
		{"one that ends in the next second is followed by another", AOFEverysecSlow, "5700 a; 5800 b; 6300 c; 6699 kill", "a b"},
		{"for what had been kept waiting", AOFEverysecSlow, "5700 a; 5800 b; 6300 c; 6700 power", "a b"},
		{"the next process has no fsync under way", AOFEverysecSlow, "5300 a; 5400 b; 5500 kill; 5600 c; 5601 kill", "a c"},
		{"a clock that is set back makes no fsync longer", AOFEverysecSlow, "5300 a; 5400 back; 5450 b; 5900 kill", "a b"},
		{"than it may take from then on", AOFEverysecSlow, "5300 a; 5400 back; 5450 b; 5899 kill", "a"},
		{"a lying disk keeps nothing of what was written", AOFLying, "0 a; 99000 power", ""},
		{"and the process may be killed meanwhile", AOFLying, "0 a; 10 kill; 20 b; 30 power", ""},
		{"but what it has when the power comes back, it has", AOFLying, "0 a; 10 power; 20 b; 30 kill; 40 c; 50 power", ""},
		{"a snapshot is taken an hour after the first write", RDB, "0 a; 3600900 b; 3600999 power", ""},
		{"and has it", RDB, "0 a; 3600900 b; 3601000 power", "a b"},
		{"a later write waits for another hour", RDB, "0 a; 3601000 b; 7200000 power", "a"},
		{"a write after a long time is in the next run of serverCron", RDB, "9000050 a; 9000099 kill", ""},
		{"which comes ten times a second", RDB, "9000050 a; 9000100 kill", "a"},
		{"a hundred writes are saved after five minutes", RDB, "0 a*99; 10 b; 300999 kill", ""},
		{"in a snapshot", RDB, "0 a*99; 10 b; 301000 kill", "a b"},
		{"ten thousand writes are saved after one", RDB, "0 a*9999; 10 b; 61000 kill", "a b"},
		{"fewer are not", RDB, "0 a*9998; 10 b; 61000 kill", ""},
		{"a stop saves", RDB, "0 a; 10 stop; 20 b; 30 power", "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := &testClock{start.Truncate(time.Second)}
			r := NewRedis(clock.now)
			t.Cleanup(r.Close)
			r.Persist(test.kind)
			from, back := clock.Time, time.Duration(0)
			for step := range strings.SplitSeq(test.run, "; ") {
				var ms int
				var what string
				fmt.Sscan(step, &ms, &what)
				at := from.Add(time.Duration(ms)*time.Millisecond - back)
				for next, ok := r.NextDeadline(); ok && !next.After(at); next, ok = r.NextDeadline() {
					clock.Time = next
					r.Tick()
				}
				clock.Time = at
				key, times, many := strings.Cut(what, "*")
				switch what {
				case "power", "kill", "stop":
					r.Crash(map[string]Exit{"power": PowerLost, "kill": Killed, "stop": Stopped}[what])
					r.Restart(false)
				case "back":
					back = 10 * time.Second
					clock.advance(-back)
					r.Tick()
				default:
					n := 1
					if many {
						fmt.Sscan(times, &n)
					}
					s := r.Connect("c1")
					for i := range n {
						s.Do("SET", key, fmt.Sprint(i))
					}
				}
			}
			var left []string
			for _, k := range r.Keys() {
				left = append(left, k.Name)
			}
			if got := strings.Join(left, " "); got != test.want {
				t.Errorf("%q is left, want %q", got, test.want)
			}
		})
	}
}

// A node reports what a crash has undone: keys are lost, or are back in an earlier state.
func TestCrashReportsWhatItChanged(t *testing.T) {
	clock := &testClock{start.Truncate(time.Second)}
	r := NewRedis(clock.now)
	t.Cleanup(r.Close)
	r.Persist(AOFEverysec)
	s := r.Connect("c1")
	at := clock.Time
	for _, command := range []string{
		"SET released t1 PX 60000", "SET over t2", "SET retimed t3 PX 60000", "SET same t4", "SET short t5 PX 3000", "SET ended t6 PX 2500",
		"HSET h f 1", "SET extended t7 PX 3000",
	} {
		s.Do(strings.Fields(command)...)
	}
	for range 2 {
		clock.advance(time.Second)
		r.Tick()
	}
	var got []Change
	s.Do("SET", "first", "t0")
	for _, command := range []string{
		"DEL released", "SET over t8", "PEXPIRE retimed 90000", "SET new t9 PX 60000", "HSET h f 2", "DEL ended", "SET brief ta PX 500",
		"PEXPIRE extended 60000",
	} {
		s.Do(strings.Fields(command)...)
	}
	r.Crash(PowerLost)
	clock.Time = at.Add(4 * time.Second)
	r.Observe(func(c Change) { got = append(got, c) })
	r.Restart(false)
	in := func(s int) time.Time { return at.Add(time.Duration(s) * time.Second) }
	none := time.Time{}
	want := []Change{
		{history.Expire, "brief", "ta", "", none, in(2).Add(500 * time.Millisecond), "", false, "", false, nil},
		{history.Expire, "short", "t5", "", none, in(3), "", false, "", false, nil},
		{history.Lose, "extended", "t7", "", none, in(62), "", false, "", false, nil},
		{history.Over, "h", made("HSET h f 2"), made("HSET h f 1"), none, none, "", false, "", true, nil},
		{history.Lose, "new", "t9", "", none, in(62), "", false, "", false, nil},
		{history.Over, "over", "t8", "t2", none, none, "", false, "", false, nil},
		{history.Set, "released", "", "t1", in(60), none, "", false, "", false, nil},
		{history.Retime, "retimed", "t3", "t3", in(60), in(92), "", false, "", false, nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %+v\nwant %+v", got, want)
	}
	redistest.Expect(t, r.Connect("c1"), "HGET h f", "$1 1")
	redistest.Expect(t, r.Connect("c1"), "KEYS *", "*6 $5 first $1 h $4 over $8 released $7 retimed $4 same")

	got = nil
	r.Crash(PowerLost)
	r.Restart(true)
	if len(got) != 6 || slices.ContainsFunc(got, func(c Change) bool { return c.Op != history.Lose }) {
		t.Errorf("on another disk: %+v", got)
	}
	redistest.Expect(t, r.Connect("c1"), "DBSIZE", ":0")
	r.Crash(Killed)
	r.Restart(false)
	redistest.Expect(t, r.Connect("c1"), "DBSIZE", ":0")

	r.Restart(true)
	r.Connect("c1").Do("SET", "unsaved", "v")
	r.Crash(PowerLost)
	r.Restart(false)
	redistest.Expect(t, r.Connect("c1"), "DBSIZE", ":0")
	r.Connect("c1").Do("SET", "saved", "v")
	clock.advance(2 * time.Second)
	r.Tick()
	r.Crash(PowerLost)
	r.Restart(false)
	redistest.Expect(t, r.Connect("c1"), "KEYS *", "*1 $5 saved")
}

// The expiry of a key does not count as a change for a snapshot.
func TestExpiryIsNoChangeToSave(t *testing.T) {
	r, clock := newNode(t)
	r.Persist(RDB)
	r.Connect("c1").Do("SET", "k", "v", "PX", "4000000")
	clock.advance(3602 * time.Second)
	r.Tick()
	if at, _ := r.NextDeadline(); !at.Equal(start.Add(4_000_001 * time.Millisecond)) {
		t.Errorf("after a snapshot the next deadline is %v", at)
	}
	clock.advance(1000 * time.Second)
	r.Tick()
	if at, ok := r.NextDeadline(); ok {
		t.Errorf("a snapshot is due at %v", at)
	}
}

// A replica writes the commands that it applies to its log, and nothing else that it receives from its primary.
func TestReplicaHasADisk(t *testing.T) {
	two := newNodes(t)
	two.r.Persist(AOFEverysec)
	p := twoConn{two, two.n.Connect("c1")}
	p.Do("SET", "early", "1")
	p.Do("WAIT", "1", "0")
	p.Do("MSET", "a", "2", "b", "3")
	two.pass(time.Second)
	two.r.Crash(PowerLost)
	two.r.Restart(false)
	redistest.Expect(t, two.r.Connect("c1"), "MGET early a b", "*3 $1 1 $1 2 $1 3")
	redistest.Expect(t, two.r.Connect("c1"), "SET early 2", "-READONLY You can't write against a read only replica.")
	p.Do("SET", "late", "4")
	two.r.Crash(PowerLost)
	two.r.Restart(false)
	redistest.Expect(t, two.r.Connect("c1"), "MGET early late", "*2 $1 1 $-1")

	// A full copy is on the disk at once.
	two.r.Load(two.n.Snapshot(), two.n.Offset())
	two.r.Crash(PowerLost)
	two.r.Restart(false)
	redistest.Expect(t, two.r.Connect("c1"), "MGET early late", "*2 $1 1 $1 4")
}
