package engine

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/nodes/internal/redistest"
	"lockstep/sim/history"
)

func TestChanges(t *testing.T) {
	in := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	none := time.Time{}
	for _, test := range []struct {
		commands string // one to a line
		want     []Change
	}{
		{"SET k v NX PX 100", []Change{{history.Set, "k", "", "v", in(100), none, "c1", true, "SET", false, nil}}},
		{"set k v", []Change{{history.Set, "k", "", "v", none, none, "c1", false, "SET", false, nil}}},
		{"SETNX k v\nSETNX k w", []Change{{history.Set, "k", "", "v", none, none, "c1", true, "SETNX", false, nil}}},
		{"SET k v EX 1\nSET k w NX", []Change{{history.Set, "k", "", "v", in(1000), none, "c1", false, "SET", false, nil}}},
		{"SETEX k 1 v\nPSETEX k 5 w", []Change{
			{history.Set, "k", "", "v", in(1000), none, "c1", false, "SETEX", false, nil},
			{history.Over, "k", "v", "w", in(5), in(1000), "c1", false, "PSETEX", false, nil},
		}},
		{"SET k v PX 9\nSET k v PX 9\nSET k v PX 8\nSET k v", []Change{
			{history.Set, "k", "", "v", in(9), none, "c1", false, "SET", false, nil},
			{history.Retime, "k", "v", "v", in(8), in(9), "c1", false, "SET", false, nil},
			{history.Retime, "k", "v", "v", none, in(8), "c1", false, "SET", false, nil},
		}},
		{"SET k v\nEXPIRE k 1\nPERSIST k\nPERSIST k\nGETEX k PX 5\nGETEX k\nGETEX k PERSIST", []Change{
			{history.Set, "k", "", "v", none, none, "c1", false, "SET", false, nil},
			{history.Retime, "k", "v", "v", in(1000), none, "c1", false, "EXPIRE", false, nil},
			{history.Retime, "k", "v", "v", none, in(1000), "c1", false, "PERSIST", false, nil},
			{history.Retime, "k", "v", "v", in(5), none, "c1", false, "GETEX", false, nil},
			{history.Retime, "k", "v", "v", none, in(5), "c1", false, "GETEX", false, nil},
		}},
		{"INCR n\nINCRBY n 2\nINCRBY n 0\nGETSET n x\nAPPEND n y", []Change{
			{history.Set, "n", "", "1", none, none, "c1", false, "INCR", false, nil},
			{history.Over, "n", "1", "3", none, none, "c1", false, "INCRBY", false, nil},
			{history.Over, "n", "3", "x", none, none, "c1", false, "GETSET", false, nil},
			{history.Over, "n", "x", "xy", none, none, "c1", false, "APPEND", false, nil},
		}},
		{"MSET a 1 b 2\nDEL b c a\nSET k v\nGETDEL k", []Change{
			{history.Set, "a", "", "1", none, none, "c1", false, "MSET", false, nil},
			{history.Set, "b", "", "2", none, none, "c1", false, "MSET", false, nil},
			{history.Delete, "b", "2", "", none, none, "c1", false, "DEL", false, nil},
			{history.Delete, "a", "1", "", none, none, "c1", false, "DEL", false, nil},
			{history.Set, "k", "", "v", none, none, "c1", false, "SET", false, nil},
			{history.Delete, "k", "v", "", none, none, "c1", false, "GETDEL", false, nil},
		}},
		{"SET k v PX 7\nEXPIRE k -1\nSET k w\nPEXPIREAT k 5", []Change{
			{history.Set, "k", "", "v", in(7), none, "c1", false, "SET", false, nil},
			{history.Delete, "k", "v", "", none, in(7), "c1", false, "EXPIRE", false, nil},
			{history.Set, "k", "", "w", none, none, "c1", false, "SET", false, nil},
			{history.Delete, "k", "w", "", none, none, "c1", false, "PEXPIREAT", false, nil},
		}},
		{"SET k v NX PXAT 5\nSET k w NX", []Change{
			{history.Set, "k", "", "v", date(5), none, "c1", true, "SET", false, nil},
			{history.Expire, "k", "v", "", none, date(5), "", false, "", false, nil},
			{history.Set, "k", "", "w", none, none, "c1", true, "SET", false, nil},
		}},
		{"SET a v PX 7\nSET b w\nRENAME a b\nFLUSHALL", []Change{
			{history.Set, "a", "", "v", in(7), none, "c1", false, "SET", false, nil},
			{history.Set, "b", "", "w", none, none, "c1", false, "SET", false, nil},
			{history.Delete, "a", "v", "", none, in(7), "c1", false, "RENAME", false, nil},
			{history.Over, "b", "w", "v", in(7), none, "c1", false, "RENAME", false, nil},
			{history.Delete, "b", "v", "", none, in(7), "c1", false, "FLUSHALL", false, nil},
		}},
		{"HSET h f 1\nPEXPIRE h 100\nSET h v\nDEL h\nHSETNX h f 1\nHSETNX h f 2\nHDEL h f\nSET k v\nLPUSH k x", []Change{
			{history.Set, "h", "", made("HSET h f 1"), none, none, "c1", false, "HSET", true, nil},
			{history.Retime, "h", made("HSET h f 1"), made("HSET h f 1"), in(100), none, "c1", false, "PEXPIRE", true, nil},
			{history.Over, "h", made("HSET h f 1"), "v", none, in(100), "c1", false, "SET", false, nil},
			{history.Delete, "h", "v", "", none, none, "c1", false, "DEL", false, nil},
			{history.Set, "h", "", made("HSET h f 1"), none, none, "c1", true, "HSETNX", true, nil},
			{history.Delete, "h", made("HSET h f 1"), "", none, none, "c1", false, "HDEL", true, nil},
			{history.Set, "k", "", "v", none, none, "c1", false, "SET", false, nil},
		}},
		{"RPUSH l b\nRPUSH l a\nLPOP l\nZADD z 2 b\nZADD z 1 c\nSADD s b\nSADD s a\nSREM s b", []Change{
			{history.Set, "l", "", made("RPUSH l b"), none, none, "c1", false, "RPUSH", true, nil},
			{history.Over, "l", made("RPUSH l b"), made("RPUSH l b a"), none, none, "c1", false, "RPUSH", true, nil},
			{history.Over, "l", made("RPUSH l b a"), made("RPUSH l a"), none, none, "c1", false, "LPOP", true, nil},
			{history.Set, "z", "", made("ZADD z 2 b"), none, none, "c1", false, "ZADD", true, nil},
			{history.Over, "z", made("ZADD z 2 b"), made("ZADD z 1 c 2 b"), none, none, "c1", false, "ZADD", true, nil},
			{history.Set, "s", "", made("SADD s b"), none, none, "c1", false, "SADD", true, nil},
			{history.Over, "s", made("SADD s b"), made("SADD s a b"), none, none, "c1", false, "SADD", true, nil},
			{history.Over, "s", made("SADD s a b"), made("SADD s a"), none, none, "c1", false, "SREM", true, nil},
		}},
		{"MULTI\nSET k v NX PX 5\nINCR n\nDEL k\nEXEC\nMULTI\nSET k v\nDISCARD", []Change{
			{history.Set, "k", "", "v", in(5), none, "c1", true, "EXEC", false, nil},
			{history.Set, "n", "", "1", none, none, "c1", false, "EXEC", false, nil},
			{history.Delete, "k", "v", "", none, in(5), "c1", false, "EXEC", false, nil},
		}},
		{"eval redis.call('set','k','v','nx','px',5);redis.call('incr','n');redis.call('del','k');redis.call('x') 0", []Change{
			{history.Set, "k", "", "v", in(5), none, "c1", true, "EVAL", false, nil},
			{history.Set, "n", "", "1", none, none, "c1", false, "EVAL", false, nil},
			{history.Delete, "k", "v", "", none, in(5), "c1", false, "EVAL", false, nil},
		}},
		{"MULTI\nEVAL redis.call('set','k','v') 0\nEXEC", []Change{
			{history.Set, "k", "", "v", none, none, "c1", false, "EXEC", false, nil},
		}},
		{"SET k v\nHELLO 3\nPING\nGET k\nEVAL return 0\nEXPIRE x 1\nNOSUCH\nSET k\nSET k w PX 0\nTTL k\nWATCH k\nUNWATCH", []Change{
			{history.Set, "k", "", "v", none, none, "c1", false, "SET", false, nil},
		}},
	} {
		r, _ := newNode(t)
		var got []Change
		r.Observe(func(c Change) { got = append(got, c) })
		s := r.Connect("c1")
		for command := range strings.SplitSeq(test.commands, "\n") {
			s.Do(strings.Fields(command)...)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", test.commands, got, test.want)
		}
		if kept, want := replay(t, got), r.Keys(); !reflect.DeepEqual(kept, want) {
			t.Errorf("%s: the changes make %v, the node has %v", test.commands, kept, want)
		}
	}
}

// made returns the value of a key that is not a string: the command that makes it.
func made(command string) string { return Collection(strings.Fields(command)).Value }

func TestExpiryIsReportedOnceAndInOrder(t *testing.T) {
	r, clock := newNode(t)
	var got []Change
	s := r.Connect("c1")
	s.Do("SET", "b", "1", "PX", "30")
	s.Do("SET", "c", "2", "PX", "20")
	s.Do("SET", "a", "3", "PX", "30")
	s.Do("HSET", "h", "f", "4")
	s.Do("PEXPIRE", "h", "10")
	deadline := func(ms time.Duration) time.Time { return start.Add(ms * time.Millisecond) }
	r.Observe(func(c Change) { got = append(got, c) })
	clock.advance(time.Second)
	if len(r.Keys()) != 4 || len(got) > 0 {
		t.Errorf("something expired unasked: %v", got)
	}
	for range 2 {
		r.Tick()
		s.Do("GET", "a")
	}
	want := []Change{
		{Op: history.Expire, Key: "h", Old: made("HSET h f 4"), OldDeadline: deadline(10), Collection: true},
		{Op: history.Expire, Key: "c", Old: "2", OldDeadline: deadline(20)},
		{Op: history.Expire, Key: "a", Old: "3", OldDeadline: deadline(30)},
		{Op: history.Expire, Key: "b", Old: "1", OldDeadline: deadline(30)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	redistest.Expect(t, s, "EXISTS h", ":0")
}

// TestChangesMakeKeys draws commands like the differential test, restarts, and a clock that moves in both directions. The changes
// must produce the keys at every moment, and two nodes with the same commands must be equal.
func TestChangesMakeKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			op      op
			client  int
			jump    time.Duration
			restart int // 1: with its data, 2: without
		}
		var steps []step
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			st := step{op: drawOp(rt), client: rapid.IntRange(0, 1).Draw(rt, "client")}
			switch rapid.IntRange(0, 19).Draw(rt, "event") {
			case 0, 1, 2:
				st.jump = time.Duration(rapid.IntRange(-10_000, 10_000).Draw(rt, "jump")) * time.Millisecond
			case 3:
				st.restart = rapid.IntRange(1, 2).Draw(rt, "restart")
			}
			steps = append(steps, st)
		}
		run := func() (changes []Change, replies []string) {
			clock := &testClock{start}
			r := NewRedis(clock.now)
			defer r.Close()
			r.Observe(func(c Change) { changes = append(changes, c) })
			sessions := []*Session{r.Connect("c1"), r.Connect("c2")}
			for _, st := range steps {
				clock.advance(st.jump + 300*time.Microsecond)
				if st.restart > 0 {
					r.Restart(st.restart == 2)
					sessions = []*Session{r.Connect("c1"), r.Connect("c2")}
				}
				before := r.Keys()
				replies = append(replies, sessions[st.client].Do(st.op.on(clock.Time)...))
				keys := r.Keys()
				if len(changes) == 0 && !reflect.DeepEqual(before, keys) {
					rt.Fatalf("%s changed %v into %v unseen", st.op, before, keys)
				}
				if made := replay(rt, changes); !reflect.DeepEqual(made, keys) {
					rt.Fatalf("%s: the changes make %v, the node has %v", st.op, made, keys)
				}
				for _, k := range keys {
					value, err := r.mini.Get(k.Name)
					if err != nil {
						value = Collection(r.contents(k.Name)).Value
					}
					if value != k.Value {
						rt.Fatalf("%s: the node has %v, miniredis %q, %v", st.op, k, value, err)
					}
					if next, ok := r.NextDeadline(); !k.Deadline.IsZero() && (!ok || next.After(k.Deadline.Add(time.Millisecond))) {
						rt.Fatalf("%s: next deadline %v, %v, with %v", st.op, next, ok, k)
					}
				}
			}
			return changes, replies
		}
		changes, replies := run()
		changes2, replies2 := run()
		if !reflect.DeepEqual(changes, changes2) || !reflect.DeepEqual(replies, replies2) {
			rt.Fatalf("the same commands gave %v and %v, %v and %v", replies, replies2, changes, changes2)
		}
	})
}
