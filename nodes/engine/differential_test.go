package engine

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"pgregory.net/rapid"

	"lockstep/nodes/internal/redistest"
	"lockstep/sim/history"
)

// TestNodeAnswersLikeRedis runs the same commands on a node and on a real redis-server, on several connections and with clock jumps
// in between, and compares the replies byte by byte. Only the differences in tolerated are allowed.
func TestNodeAnswersLikeRedis(t *testing.T) {
	server := redistest.Start(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(t, rt, server)
		defer p.close()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 9).Draw(rt, "step") == 0 {
				p.jump(time.Duration(rapid.SampledFrom([]int{-60, -7, -2, -1, 1, 2, 3, 7, 60}).Draw(rt, "jump")) * time.Second)
				continue
			}
			// Most commands use the first connection; otherwise transactions would hardly ever be complete.
			p.run(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(rt, "conn"), drawOp(rt))
		}
		p.finish()
	})
}

// tolerated lists the commands whose replies may differ, and how.
var tolerated = []struct {
	why     string
	command *regexp.Regexp
	same    func(node, redis string, jumped time.Duration) bool
}{
	{
		"Real time passes between the two servers; and redis-server's clock does not jump, only its keys' deadlines do.",
		regexp.MustCompile(`^((P?TTL|P?EXPIRETIME|TIME)\b|EVAL.*'(pttl|ttl|pexpiretime|time)')`), sameTime,
	},
	{
		"redis-server counts keys that are over until it comes across them.",
		regexp.MustCompile(`^DBSIZE`),
		func(node, redis string, _ time.Duration) bool {
			return len(node) == 4 && len(redis) == 4 && node < redis
		},
	},
	{
		"A set has no order; the node sorts.",
		regexp.MustCompile(`^(KEYS|SMEMBERS|HGETALL)`),
		func(node, redis string, _ time.Duration) bool {
			a, b := strings.Split(node, "\r\n"), strings.Split(redis, "\r\n")
			slices.Sort(a)
			slices.Sort(b)
			return slices.Equal(a, b)
		},
	},
	{
		"A connection has another number.",
		regexp.MustCompile(`^(CLIENT ID|HELLO)\b`),
		func(node, redis string, _ time.Duration) bool {
			id := regexp.MustCompile(`(^|\$2\r\nid\r\n):\d+`)
			return id.ReplaceAllString(node, "$1") == id.ReplaceAllString(redis, "$1")
		},
	},
	{
		"gopher-lua words run-time and compile errors in its own way; what is around them is the same.",
		regexp.MustCompile(`^(EVAL|SCRIPT LOAD)`),
		func(node, redis string, _ time.Duration) bool {
			own := regexp.MustCompile(`user_script(:| line:)\d+.*?( script: |\r\n$)`)
			return strings.HasPrefix(redis, "-ERR ") &&
				own.ReplaceAllString(node, "$2") == own.ReplaceAllString(redis, "$2")
		},
	},
}

// sameTime compares all numbers of two replies, which may be times since 1970 or until a deadline, in seconds or milliseconds.
func sameTime(node, redis string, jumped time.Duration) bool {
	number := regexp.MustCompile(`\d+`)
	if number.ReplaceAllString(node, "") != number.ReplaceAllString(redis, "") {
		return false
	}
	a, b := number.FindAllString(node, -1), number.FindAllString(redis, -1)
	for i := range a {
		x, _ := strconv.ParseInt(a[i], 10, 64)
		y, _ := strconv.ParseInt(b[i], 10, 64)
		near := func(shift, by int64) bool { return x-shift-y <= by && y-x+shift <= by }
		switch {
		case near(0, apart.Milliseconds()), near(jumped.Milliseconds(), apart.Milliseconds()), near(int64(jumped/time.Second), 1):
		case x < 1e6 && y < 1e6 && strings.Contains(node, "*2"): // the microseconds in the reply to TIME
		case len(a[i]) != len(b[i]): // the length of a number as text; the number itself is compared
		default:
			return false
		}
	}
	return true
}

// An op is a command. An absolute time in it is stored as a distance from now.
type op struct {
	args    []string
	at      int // index of the absolute time, or 0
	ahead   time.Duration
	seconds bool   // in seconds, not milliseconds
	body    string // the script that EVALSHA runs
}

func (o op) String() string { return strings.Join(o.args, " ") }

// on returns the command for a server whose clock shows now.
func (o op) on(now time.Time) []string {
	args := slices.Clone(o.args)
	if o.at > 0 {
		t := now.Add(o.ahead).UnixMilli()
		if o.seconds {
			t /= 1000
		}
		args[o.at] = strconv.FormatInt(t, 10)
	}
	return args
}

// A pair is a node and a real server that get the same commands.
type pair struct {
	t       testing.TB
	rt      *rapid.T
	node    *Redis
	control *redistest.Client
	sides   []*sides
	jumped  time.Duration // how far the node's clock is ahead of the machine's
	changes []Change
	frozen  time.Time // the machine's clock in this step, for both servers
}

// sides are the two connections that the test treats as one.
type sides struct {
	node   *Session
	redis  *redistest.Client
	queued []op
}

func newPair(t testing.TB, rt *rapid.T, server *redistest.Server) *pair {
	p := &pair{t: t, rt: rt, control: server.Connect()}
	p.node = NewRedis(func() time.Time { return p.frozen.Add(p.jumped) })
	p.node.Observe(func(c Change) { p.changes = append(p.changes, c) })
	p.control.Do("FLUSHALL")
	p.control.Do("SCRIPT", "FLUSH")
	for i := range 3 {
		p.sides = append(p.sides, &sides{node: p.node.Connect(fmt.Sprint("c", i+1)), redis: server.Connect()})
	}
	return p
}

func (p *pair) close() {
	p.control.Close()
	for _, s := range p.sides {
		s.redis.Close()
	}
	p.node.Close()
}

// settle waits until no deadline is so close that the two servers could disagree on whether it has passed.
func (p *pair) settle() {
	for {
		p.frozen = time.Now()
		if !p.near(0) {
			p.node.Tick()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// apart is how far apart in time the two servers may be when a busy machine puts a delay between two commands.
const apart = 150 * time.Millisecond

// near reports whether, after a jump, a deadline would be so close to the time of the node that the two servers could disagree.
func (p *pair) near(jump time.Duration) bool {
	for _, e := range p.node.keys {
		left := time.UnixMilli(e.Deadline).Sub(p.frozen.Add(p.jumped + jump))
		if e.Deadline != 0 && left.Abs() <= apart {
			return true
		}
	}
	return false
}

func (p *pair) jump(d time.Duration) {
	p.settle()
	// The jump of the real server moves deadlines, which touches the keys; a real jump would not. And after a jump an absolute time
	// that waits for EXEC stands for another distance.
	barred := slices.ContainsFunc(p.sides, func(s *sides) bool {
		return len(s.node.watched) > 0 || slices.ContainsFunc(s.queued, func(o op) bool { return o.at > 0 })
	})
	if barred || p.near(d) {
		return
	}
	p.rt.Logf("jump %v", d)
	p.control.Jump(d)
	p.jumped += d
	p.node.Tick()
}

func (p *pair) run(i int, o op) {
	p.settle()
	s := p.sides[i]
	if p.closeCall(s, o) {
		return
	}
	node := s.node.Do(o.on(p.frozen.Add(p.jumped))...)
	redis := s.redis.Do(o.on(p.frozen)...)
	p.rt.Logf("c%d %s: %q", i+1, o, node)
	switch word := strings.ToUpper(o.args[0]); {
	case redis == "+QUEUED\r\n":
		s.queued = append(s.queued, o)
	case word == "EXEC" && redis != "*-1\r\n" && strings.HasPrefix(redis, "*") && len(s.queued) > 0:
		p.compareTransaction(s, node, redis)
		s.queued = nil
		return
	case word == "EXEC" || word == "DISCARD":
		s.queued = nil
	}
	p.compare(o, node, redis)
}

// closeCall reports whether GT or LT would compare two deadlines so close to each other that a delay between the servers decides
// the result.
func (p *pair) closeCall(s *sides, o op) bool {
	if len(o.args) < 4 || !strings.Contains(o.args[0], "EXPIRE") || len(o.args[3]) != 2 || o.args[3][1] != 'T' {
		return false
	}
	when, _ := strconv.ParseInt(o.args[2], 10, 64)
	left := time.UnixMilli(p.node.keys[o.args[1]].Deadline).Sub(p.frozen.Add(p.jumped))
	return s.node.multi || (time.Duration(when)*time.Millisecond-left).Abs() < 2*apart ||
		(time.Duration(when)*time.Second-left).Abs() < 2*apart
}

func (p *pair) compareTransaction(s *sides, node, redis string) {
	a, err := proto.ReadArray(node)
	b, err2 := proto.ReadArray(redis)
	if err != nil || err2 != nil || len(a) != len(b) || len(a) != len(s.queued) {
		p.rt.Fatalf("EXEC: node answers %q, redis-server %q", node, redis)
	}
	for i, o := range s.queued {
		p.compare(o, a[i], b[i])
	}
}

func (p *pair) compare(o op, node, redis string) {
	p.rt.Helper()
	if node == redis {
		return
	}
	command := strings.ToUpper(o.args[0]) + " " + strings.Join(o.args[1:], " ") + o.body
	for _, d := range tolerated {
		if d.command.MatchString(command) && d.same(node, redis, p.jumped) {
			return
		}
	}
	p.rt.Fatalf("%s:\nnode answers         %q\nredis-server answers %q", o, node, redis)
}

// finish compares the keys of the two servers, and the keys of the node with the changes that it reported.
func (p *pair) finish() {
	for _, s := range p.sides {
		if s.node.multi {
			p.run(slices.Index(p.sides, s), op{args: []string{"DISCARD"}})
		}
	}
	for _, key := range append(keys, "a b") {
		for _, command := range []string{"TYPE", "PTTL", "GET"} {
			p.run(0, op{args: []string{command, key}})
		}
	}
	p.run(0, op{args: []string{"DBSIZE"}})
	if got, want := replay(p.rt, p.changes), p.node.Keys(); !reflect.DeepEqual(got, want) {
		p.rt.Fatalf("the changes make %v, the node has %v", got, want)
	}
}

// replay returns the keys that changes produce, and checks that each change starts from the result of the previous one.
func replay(t rapid.TB, changes []Change) []Key {
	t.Helper()
	keys := map[string]Key{}
	for i, c := range changes {
		old, lives := keys[c.Key]
		if old.Value != c.Old || old.Deadline != c.OldDeadline || lives == (c.Op == history.Set) {
			t.Fatalf("change %d, %+v, of %+v", i, c, old)
		}
		is := Key{Name: c.Key, Value: c.New, Deadline: c.Deadline}
		switch c.Op {
		case history.Set:
		case history.Over:
			if c.Old == c.New {
				t.Fatalf("change %d is none: %+v", i, c)
			}
		case history.Retime:
			if c.Old != c.New || c.Deadline == c.OldDeadline {
				t.Fatalf("change %d is none: %+v", i, c)
			}
		case history.Delete, history.Expire, history.Lose:
			if (is != Key{Name: c.Key}) || (c.By == "") != (c.Op != history.Delete) || (c.Command == "") != (c.By == "") {
				t.Fatalf("change %d: %+v", i, c)
			}
		default:
			t.Fatalf("change %d: %+v", i, c)
		}
		if is == (Key{Name: c.Key}) && c.Op != history.Set && c.Op != history.Over && c.Op != history.Retime {
			delete(keys, c.Key)
		} else {
			keys[c.Key] = is
		}
	}
	return sortedKeys(keys)
}

func sortedKeys(m map[string]Key) []Key {
	var list []Key
	for _, k := range m {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return list
}

var (
	keys   = []string{"lock", "fence", "k"}
	values = []string{"t1", "t2", "7", "-1", "9223372036854775807", "", "05", "+5", "a b"}
	// Lifetimes in milliseconds and seconds, valid and invalid.
	lifetimes = []string{"700", "1300", "2600", "5400", "60700", "1", "0", "-1", "-5000", "x", "", "+5", "05", "1.5",
		"-9223372036854775808", tooLong}
	goodLifetimes = lifetimes[:5]
	tooLong       = "9223372036854775807" // a lifetime; miniredis cannot represent it as an instant
	goodSeconds   = []string{"1", "2", "5", "10", "100"}
)

// scripts are bodies of EVAL for one key and two arguments.
var scripts = []string{
	"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
	"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end",
	"if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', 'fence') end return nil",
	"return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', '2600')",
	"redis.call('set', KEYS[1], ARGV[1], 'PXAT', 1000) return redis.call('get', KEYS[1])",
	"redis.call('set', KEYS[1], ARGV[1], 'PX', 1300) redis.call('persist', KEYS[1]) return redis.call('ttl', KEYS[1])",
	"return {redis.call('pttl', KEYS[1]), redis.call('exists', KEYS[1])}",
	"return redis.call('time')",
	"return redis.pcall('incr', KEYS[1])",
	"return redis.call('incr', KEYS[1])",
	"local ok, e = pcall(redis.call, 'incr', KEYS[1]) return {tostring(ok), e}",
	"redis.call('set', KEYS[1], ARGV[1]) error('after the write')",
	"redis.call('set', KEYS[1], ARGV[1]) return nil + 1",
	"if redis.call('exists', KEYS[1]) == 0 then redis.call('hset', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], 5400) " +
		"return nil end return redis.call('hincrby', KEYS[1], ARGV[1], 1)",
	"local t = redis.call('get', KEYS[1]) if t == false then return 'none' end return t",
	"return {1, 'two', {3, false, true}, 4.9, nil, 5}",
	"return {ok = 'fine'}", "return {err = 'MINE not fine'}", "return redis.error_reply('no')",
	"return redis.error_reply('-CODE no')", "return redis.status_reply('yes')", "return redis.sha1hex(ARGV[1])",
	"return redis.call()", "return redis.call('nosuch')", "return redis.call('get')", "return redis.call({})",
	"return redis.pcall('nosuch')", "return redis.call('multi')", "return redis.pcall('eval', 'return 1', 0)",
	"return redis.call('watch', KEYS[1])", "return redis.call('client', 'id')", "return redis.call('script', 'flush')",
	"math.randomseed(7) return {tostring(math.random()), math.random(10), math.random(5, 7)}",
	"return {tostring(1e15), tostring(0.1), tostring(12345678), 2^53}", "return redis.call('echo', 0.1)",
	"return redis.call('set', KEYS[1], 12.0)", "x = 1", "return y", "KEYS = {}", "string.x = 1", "return return",
	"error('flat', 0)", "error({err = 'MINE table'})", "return #KEYS + #ARGV", "return cjson.encode({1, 2})",
	"return cjson.decode('{\"a\":[1]}').a[1]", "redis.log(redis.LOG_NOTICE, 'x') return redis.REDIS_VERSION_NUM",
	"local t = {} for i = 1, 3 do t[i] = i * i end return t", "return string.format('%d-%s', 3, tostring(ARGV[1]))",
	"return redis.call('mget', KEYS[1], 'fence')", "return redis.call('select', '1')",
	"#!lua\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('set', KEYS[1], '1')", "#!js\nreturn 1",
	"#!lua flags=none\nreturn 1", "return tonumber(ARGV[2]) == nil", "return type(redis.call('get', KEYS[1]))",
	"return redis.call('getex', KEYS[1], 'PX', ARGV[2])", "return redis.call('flushall')",
}

// draw has short names for drawn values.
type draw struct{ *rapid.T }

func (d draw) of(list ...string) string { return rapid.SampledFrom(list).Draw(d.T, "of") }
func (d draw) n(n int) int              { return rapid.IntRange(0, n-1).Draw(d.T, "n") }
func (d draw) one(in int) bool          { return d.n(in) == 0 }
func (d draw) key() string              { return d.of(keys...) }
func (d draw) value() string            { return d.of(values...) }

func (d draw) life() string {
	if d.one(5) {
		return d.of(lifetimes...)
	}
	return d.of(goodLifetimes...)
}

func (d draw) seconds() string {
	if d.one(5) {
		return d.of(lifetimes...)
	}
	return d.of(goodSeconds...)
}

func (d draw) ahead() time.Duration {
	return time.Duration(rapid.SampledFrom([]int{-100_000, -2700, 800, 1400, 2500, 5600, 60_300}).Draw(d.T, "ahead")) *
		time.Millisecond
}

// end draws the words by which a command gives the end of a key: a unit and a time. It returns the index of an absolute time.
func (d draw) end(args []string) (longer []string, at int, seconds bool) {
	switch d.n(5) {
	case 0:
		return append(args, d.of("EX", "ex"), d.seconds()), 0, false
	case 1, 2:
		return append(args, d.of("PX", "px"), d.life()), 0, false
	case 3:
		return append(args, "PXAT", "?"), len(args) + 1, false
	default:
		return append(args, "EXAT", "?"), len(args) + 1, true
	}
}

func (d draw) words(words ...string) op { return op{args: words} }

func drawOp(rt *rapid.T) op {
	d := draw{rt}
	switch d.n(23) {
	case 0, 1, 2, 3:
		return d.set()
	case 4:
		return d.words(d.of("GET", "get", "GETDEL", "STRLEN", "TYPE", "PERSIST"), d.key())
	case 22:
		return d.words("GETRANGE", d.key(), d.of("0", "1", "-1", "5"), d.of("0", "2", "-1", "-2", "100"))
	case 5:
		return d.words(d.of("TTL", "PTTL", "PEXPIRETIME", "EXPIRETIME"), d.key())
	case 6, 7:
		return d.expire()
	case 8:
		return d.getex()
	case 9:
		switch d.n(6) {
		case 0:
			return d.words("GETSET", d.key(), d.value())
		case 1:
			return d.words("SETNX", d.key(), d.value())
		case 2:
			return d.words("SETEX", d.key(), d.seconds(), d.value())
		case 3:
			return d.words("PSETEX", d.key(), d.life(), d.value())
		case 4:
			return d.words("APPEND", d.key(), d.value())
		default:
			return d.words(d.of("MSET", "MSETNX"), d.key(), d.value(), d.key(), d.value())
		}
	case 10:
		return d.words(d.of("DEL", "UNLINK", "EXISTS", "TOUCH", "MGET"), d.key(), d.key())
	case 11:
		if d.one(2) {
			return d.words(d.of("INCR", "DECR"), d.key())
		}
		return d.words(d.of("INCRBY", "DECRBY"), d.key(), d.of("1", "-3", "0", "9223372036854775807", "-9223372036854775808", "x", "05", "+1"))
	case 12, 13, 20, 21:
		return d.words(d.of("MULTI", "MULTI", "EXEC", "EXEC", "DISCARD", "WATCH", "WATCH", "UNWATCH"), d.key()).fit()
	case 14, 15, 16:
		return d.script()
	case 17:
		return d.other()
	case 18:
		return d.structure()
	default:
		return d.connection()
	}
}

// fit drops the key from commands that take none.
func (o op) fit() op {
	if o.args[0] != "WATCH" {
		o.args = o.args[:1]
	}
	return o
}

func (d draw) set() op {
	o := op{args: []string{d.of("SET", "set"), d.key(), d.value()}}
	if !d.one(4) {
		o.args = append(o.args, d.of("NX", "nx", "NX", "XX"))
	}
	if !d.one(4) {
		o.args, o.at, o.seconds = d.end(o.args)
		o.ahead = d.ahead()
	}
	if d.one(6) {
		o.args = append(o.args, d.of("GET", "KEEPTTL", "NX", "XX", "EX", "PX", "FOO", "PERSIST", "GET", "KEEPTTL"))
	}
	if d.one(20) && o.at == 0 {
		o.args, o.at, o.seconds = d.end(o.args)
		o.ahead = d.ahead()
	}
	return o
}

func (d draw) getex() op {
	o := op{args: []string{"GETEX", d.key()}, ahead: d.ahead()}
	switch d.n(4) {
	case 0:
		o.args = append(o.args, d.of("PERSIST", "FOO", "EX", "NX", "KEEPTTL"))
	default:
		o.args, o.at, o.seconds = d.end(o.args)
	}
	if d.one(8) {
		o.args = append(o.args, d.of("PERSIST", "FOO", "PX"))
	}
	return o
}

func (d draw) expire() op {
	var o op
	switch d.n(4) {
	case 0:
		o.args = []string{"EXPIRE", d.key(), d.seconds()}
	case 1:
		o.args = []string{"PEXPIRE", d.key(), d.life()}
	case 2:
		o = op{args: []string{"PEXPIREAT", d.key(), "?"}, at: 2, ahead: d.ahead()}
	default:
		o = op{args: []string{"EXPIREAT", d.key(), "?"}, at: 2, ahead: d.ahead(), seconds: true}
	}
	if o.at > 0 && d.one(10) {
		o.at, o.args[2] = 0, d.of(lifetimes[:len(lifetimes)-1]...)
	}
	if d.one(3) {
		o.args = append(o.args, d.of("NX", "XX", "xx", "FOO"))
	}
	// A comparison with another deadline has the same result on both servers only if the two are not within a millisecond.
	if o.at == 0 && d.one(6) {
		o.args = append(o.args[:3], d.of("GT", "LT"))
	}
	if d.one(12) {
		o.args = append(o.args[:3], d.of("NX", "GT"), d.of("XX", "LT"))
	}
	return o
}

func (d draw) script() op {
	body := d.of(scripts...)
	args := []string{"1", d.key(), d.value(), d.life()}
	if d.one(12) {
		args[0] = d.of("0", "-1", "9", "x", "3")
	}
	switch d.n(7) {
	case 0:
		return d.words("SCRIPT", "LOAD", body)
	case 1, 2:
		sha := sha1Hex(body)
		if d.one(3) {
			sha = strings.ToUpper(sha)
		}
		return op{args: append([]string{d.of("EVALSHA", "EVALSHA", "EVALSHA_RO"), sha}, args...), body: body}
	case 3:
		return op{args: append([]string{"EVAL_RO", body}, args...)}
	default:
		return op{args: append([]string{d.of("EVAL", "eval"), body}, args...)}
	}
}

func (d draw) structure() op {
	k := d.key()
	switch d.n(8) {
	case 0:
		return d.words("HSET", k, "f", d.value())
	case 1:
		return d.words("HINCRBY", k, "f", d.of("1", "-2", "x", tooLong))
	case 2:
		return d.words(d.of("HGET", "HEXISTS", "HDEL"), k, "f")
	case 3:
		return d.words(d.of("HGETALL", "HLEN", "LLEN", "SCARD", "ZCARD", "LPOP", "SMEMBERS"), k)
	case 4:
		return d.words(d.of("LPUSH", "RPUSH", "SADD", "SREM", "ZREM"), k, d.value())
	case 5:
		return d.words("ZADD", k, d.of("1", "2.5", "x"), d.value())
	case 6:
		return d.words(d.of("ZRANGE", "LRANGE"), k, "0", "-1")
	default:
		return d.words(d.of("RENAME", "RENAMENX"), k, d.key())
	}
}

func (d draw) other() op {
	return op{args: strings.Fields(d.of(
		"FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC", "FLUSHALL FOO", "FLUSHALL SYNC FOO", "DBSIZE", "KEYS *", "SCRIPT FLUSH",
		"SCRIPT FLUSH SYNC", "SCRIPT FLUSH FOO", "SCRIPT", "SCRIPT FOO", "SCRIPT LOAD", "SCRIPT EXISTS",
		"SCRIPT EXISTS "+sha1Hex(d.of(scripts...))+" "+strings.ToUpper(sha1Hex(scripts[0])), "SET k", "GET", "DEL", "EXPIRE k",
		"TTL", "INCRBY k", "SETNX k", "EVAL", "EVAL x", "EVALSHA x", "EVALSHA x 0", "MULTI x", "WATCH", "UNWATCH x", "TIME x",
		"NOSUCH", "NOSUCH a b", "CLIENT|ID", "SET k v PX", "MSET k", "MSET k v k", "MSETNX k v k", "GETEX", "HSET k f",
		"PUBLISH a b", "EXEC x", "DISCARD x",
	))}
}

func (d draw) connection() op {
	return op{args: strings.Fields(d.of(
		"PING", "ping", "PING x", "PING x y", "ECHO x", "ECHO", "TIME", "HELLO", "HELLO 2", "HELLO 3", "HELLO 4", "HELLO x",
		"HELLO 3 SETNAME n", "HELLO 2 AUTH default x", "HELLO 2 AUTH bob x", "HELLO 2 AUTH x", "HELLO 2 FOO", "AUTH x",
		"AUTH default x", "AUTH bob x", "AUTH a b c", "CLIENT", "CLIENT ID", "CLIENT ID x", "CLIENT SETNAME me", "CLIENT SETNAME",
		"CLIENT GETNAME", "CLIENT GETNAME x", "CLIENT SETINFO LIB-NAME x", "CLIENT NOSUCH", "SELECT 0", "SELECT 1", "SELECT -1",
		"SELECT x", "SELECT 99999999999", "WAIT 0 0", "WAIT 1 1", "WAIT -1 0", "WAIT x 0", "WAIT 0 x", "WAIT 0 -1",
	))}
}
