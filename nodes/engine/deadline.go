package engine

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// redis-server keeps the deadline of a key as an absolute time of its wall clock, whatever form a client used. It also logs and
// replicates it in that form (SET ... PXAT, PEXPIREAT). The commands here convert every form into that one before miniredis sees
// it, whose clock stands still in 1970.

// lastDeadline is the latest deadline that miniredis can hold.
const lastDeadline = math.MaxInt64 / int64(time.Millisecond)

// options are the options of SET and GETEX.
type options struct {
	nx, xx, get, keepTTL, persist bool
	unit                          string // EX, PX, EXAT or PXAT; empty: no deadline given
	time                          string // in that unit
}

// parseOptions parses the options of SET or GETEX as redis-server does: an option may be repeated, but not combined with one that
// contradicts it.
func parseOptions(args []string, set bool) (o options, ok bool) {
	for i := 0; i < len(args); i++ {
		switch word := optionWord(args[i]); {
		case word == "NX" && set && !o.xx:
			o.nx = true
		case word == "XX" && set && !o.nx:
			o.xx = true
		case word == "GET" && set:
			o.get = true
		case word == "KEEPTTL" && set && o.unit == "":
			o.keepTTL = true
		case word == "PERSIST" && !set && o.unit == "":
			o.persist = true
		case (word == "EX" || word == "PX" || word == "EXAT" || word == "PXAT") &&
			(o.unit == "" || o.unit == word) && !o.keepTTL && !o.persist && i+1 < len(args):
			i++
			o.unit, o.time = word, args[i]
		default:
			return o, false
		}
	}
	return o, true
}

// optionWord returns an option in capitals, or nothing if SET and GETEX have no such option. Unlike strings.ToUpper it allocates
// nothing for clients that write in small letters.
func optionWord(s string) string {
	for _, word := range [...]string{"NX", "PX", "EX", "XX", "GET", "PXAT", "EXAT", "KEEPTTL", "PERSIST"} {
		if len(s) == len(word) && strings.EqualFold(s, word) {
			return word
		}
	}
	return ""
}

// deadline parses the time of an option. A refusal is the error reply.
func (r *Redis) deadline(c *command, unit, text string) (ms int64, refusal string) {
	ms, ok := parseInt(text)
	if !ok {
		return 0, notInteger
	}
	seconds := unit == "EX" || unit == "EXAT"
	if ms <= 0 || seconds && ms > math.MaxInt64/1000 {
		return 0, invalidExpire(c)
	}
	if seconds {
		ms *= 1000
	}
	if unit == "EX" || unit == "PX" {
		if ms > math.MaxInt64-r.at {
			return 0, invalidExpire(c)
		}
		ms += r.at
	}
	return ms, ""
}

func invalidExpire(c *command) string {
	return "ERR invalid expire time in '" + strings.ToLower(c.name) + "' command"
}

func runSet(r *Redis, s *Session, c *command, args []string) {
	o, ok := parseOptions(args[3:], true)
	if !ok {
		if form := unsimulatedSet(args[3:]); form != "" {
			if r.refused != nil {
				r.refused(r.by, form)
			}
			r.out.Fail(notSimulated(form))
			return
		}
		r.out.Fail(syntax)
		return
	}
	plain := append(r.plain[:0], c.name, args[1], args[2])
	if o.unit != "" {
		ms, refusal := r.deadline(c, o.unit, o.time)
		if refusal != "" {
			r.out.Fail(refusal)
			return
		}
		plain = append(plain, "PXAT", formatDeadline(ms))
	}
	if o.nx {
		plain = append(plain, "NX")
	}
	if o.xx {
		plain = append(plain, "XX")
	}
	if o.get {
		plain = append(plain, "GET")
	}
	if o.keepTTL {
		plain = append(plain, "KEEPTTL")
	}
	r.nx = o.nx
	r.forward(s, c, plain)
}

// runSetex is SETEX and PSETEX: SET with the time before the value.
func runSetex(r *Redis, s *Session, c *command, args []string) {
	unit := "EX"
	if c.name == "PSETEX" {
		unit = "PX"
	}
	ms, refusal := r.deadline(c, unit, args[2])
	if refusal != "" {
		r.out.Fail(refusal)
		return
	}
	r.forward(s, c, []string{"SET", args[1], args[3], "PXAT", formatDeadline(ms)})
}

// runGetex is GET followed, if the key is a string that has not expired, by PEXPIREAT or PERSIST.
func runGetex(r *Redis, s *Session, c *command, args []string) {
	o, ok := parseOptions(args[2:], false)
	if !ok {
		r.out.Fail(syntax)
		return
	}
	key := args[1]
	e, lives := r.keys[key]
	if !lives || !e.Text || o.unit == "" {
		r.forward(s, c, []string{"GET", key})
		if e.Text && o.persist {
			s.aside("PERSIST", key)
			r.look(key)
		}
		return
	}
	ms, refusal := r.deadline(c, o.unit, o.time)
	if refusal != "" {
		r.out.Fail(refusal)
		return
	}
	r.forward(s, c, []string{"GET", key})
	s.aside("PEXPIREAT", key, r.expiry(ms))
	r.look(key)
	r.invalidate(key)
}

// runExpire is EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.
func runExpire(r *Redis, s *Session, c *command, args []string) {
	var nx, xx, gt, lt bool
	for _, option := range args[3:] {
		switch strings.ToUpper(option) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GT":
			gt = true
		case "LT":
			lt = true
		default:
			r.out.Fail("ERR Unsupported option " + option)
			return
		}
	}
	switch {
	case nx && (xx || gt || lt):
		r.out.Fail("ERR NX and XX, GT or LT options at the same time are not compatible")
		return
	case gt && lt:
		r.out.Fail("ERR GT and LT options at the same time are not compatible")
		return
	}

	ms, ok := parseInt(args[2])
	if !ok {
		r.out.Fail(notInteger)
		return
	}
	if c.name == "EXPIRE" || c.name == "EXPIREAT" {
		if ms > math.MaxInt64/1000 || ms < math.MinInt64/1000 {
			r.out.Fail(invalidExpire(c))
			return
		}
		ms *= 1000
	}
	if c.name == "EXPIRE" || c.name == "PEXPIRE" {
		if ms > math.MaxInt64-r.at {
			r.out.Fail(invalidExpire(c))
			return
		}
		ms += r.at
	}

	e, lives := r.keys[args[1]]
	old := e.Deadline // 0: no deadline, which counts as later than any
	if !lives || nx && old != 0 || xx && old == 0 || gt && (old == 0 || ms <= old) || lt && old != 0 && ms >= old {
		r.out.Integer(0)
		return
	}
	r.forward(s, c, []string{"PEXPIREAT", args[1], r.expiry(ms)})
}

// expiry sets a deadline for a key that has not expired. A deadline that is not in the future deletes the key at once; miniredis
// does so for one in 1970. (SET stores such a deadline, and the key is removed when it is next used.) A replica waits for its
// primary to delete the key.
func (r *Redis) expiry(ms int64) string {
	if ms <= r.at && r.primary == "" && !r.loading {
		return "0"
	}
	return formatDeadline(ms)
}

// runTTL is TTL, PTTL, EXPIRETIME and PEXPIRETIME.
func runTTL(r *Redis, _ *Session, c *command, args []string) {
	e, lives := r.keys[args[1]]
	switch {
	case !lives:
		r.out.Integer(-2)
		return
	case e.Deadline == 0:
		r.out.Integer(-1)
		return
	}
	ms := e.Deadline
	if c.name == "TTL" || c.name == "PTTL" {
		ms -= r.at
	}
	if c.name == "TTL" || c.name == "EXPIRETIME" {
		ms = (ms + 500) / 1000 // to the nearest second
	}
	r.out.Integer(ms)
}

func formatDeadline(ms int64) string { return strconv.FormatInt(min(ms, lastDeadline), 10) }

// TakesNX reports whether a command is SET with NX, SETNX or HSETNX: a key that it sets stands for a lease, whatever its value.
func TakesNX(cmd []string) bool {
	switch strings.ToUpper(cmd[0]) {
	case "SETNX", "HSETNX":
		return true
	case "SET":
		if len(cmd) > 3 {
			o, ok := parseOptions(cmd[3:], true)
			return ok && o.nx
		}
	}
	return false
}

// unsimulatedSet names the form of SET by its option if that came with Redis 8.4, and nodes do not have it; otherwise it is empty.
func unsimulatedSet(options []string) string {
	for _, o := range options {
		switch o = strings.ToUpper(o); o {
		case "IFEQ", "IFNE", "IFDEQ", "IFDNE":
			return "SET " + o
		}
	}
	return ""
}
