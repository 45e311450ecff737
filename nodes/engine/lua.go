package engine

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// parseReply converts the reply at the start of data into a Lua value, and returns the rest.
func parseReply(l *lua.LState, data []byte) (lua.LValue, []byte) {
	end := 1
	for data[end] != '\r' {
		end++
	}
	line, rest := data[1:end], data[end+len("\r\n"):]
	switch data[0] {
	case '+':
		return luaStatus(l, string(line)), rest
	case '-':
		return luaError(l, string(line)), rest
	}
	n, _ := parseInt(line)
	switch {
	case data[0] == ':':
		return lua.LNumber(n), rest
	case n < 0:
		return lua.LFalse, rest
	case data[0] == '$':
		return lua.LString(rest[:n]), rest[n+2:]
	default:
		t := l.CreateTable(int(n), 0)
		for range n {
			var v lua.LValue
			v, rest = parseReply(l, rest)
			t.Append(v)
		}
		return t, rest
	}
}

// maxReplyDepth is how deeply the tables that a script returns may nest.
const maxReplyDepth = 200

// lua writes the return value of a script.
func (w *Replies) lua(value lua.LValue, resp3 bool, depth int) {
	if depth > maxReplyDepth {
		w.Fail("ERR reached lua stack limit")
		return
	}
	switch v := value.(type) {
	case lua.LString:
		w.Bulk(string(v))
	case lua.LNumber:
		w.Integer(truncate(float64(v)))
	case lua.LBool:
		if v {
			w.Integer(1)
		} else {
			w.null(resp3)
		}
	case *lua.LTable:
		if e, ok := v.RawGetString("err").(lua.LString); ok {
			w.Fail(string(e))
			return
		}
		if s, ok := v.RawGetString("ok").(lua.LString); ok {
			w.Status(string(s))
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		w.Array(n)
		for i := range n {
			w.lua(v.RawGetInt(i+1), resp3, depth+1)
		}
	default:
		w.null(resp3)
	}
}

// truncate converts a double to a long long as a C program on x86-64 does.
func truncate(f float64) int64 {
	if f >= -0x1p63 && f < 0x1p63 {
		return int64(f)
	}
	return math.MinInt64
}

// formatNumber formats a number like C's %.<digits>g.
func formatNumber(f float64, digits int) string {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < math.Pow10(min(digits, 15)):
		return strconv.FormatInt(int64(f), 10)
	case math.IsNaN(f):
		return "-nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

func luaStatus(l *lua.LState, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString("ok", lua.LString(text))
	return t
}

func luaError(l *lua.LState, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	return t
}

// errorReply is redis.error_reply: a single word gets the code ERR in front.
func errorReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	switch message, dashed := strings.CutPrefix(string(text), "-"); {
	case !ok || l.GetTop() != 1:
		l.Push(luaError(l, "ERR wrong number or type of arguments"))
	case !dashed && !strings.Contains(message, " "):
		l.Push(luaError(l, "ERR "+message))
	default:
		l.Push(luaError(l, message))
	}
	return 1
}

func statusReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		l.Push(luaError(l, "ERR wrong number or type of arguments"))
		return 1
	}
	l.Push(luaStatus(l, string(text)))
	return 1
}

func luaSHA1(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.Error(luaError(l, "ERR wrong number of arguments"), 1)
	}
	l.Push(lua.LString(sha1Hex(lua.LVAsString(l.Get(1)))))
	return 1
}

func luaLog(l *lua.LState) int {
	if l.GetTop() < 2 {
		l.Error(luaError(l, "ERR redis.log() requires two arguments or more."), 1)
	}
	return 0
}

func setresp(l *lua.LState) int {
	if l.GetTop() != 1 || l.Get(1) != lua.LNumber(2) {
		l.Error(luaError(l, "ERR RESP version must be 2: Lockstep simulates no other in scripts"), 1)
	}
	return 0
}

func ignore(*lua.LState) int { return 0 }

func yes(l *lua.LState) int {
	l.Push(lua.LTrue)
	return 1
}

func no(l *lua.LState) int {
	l.Push(lua.LFalse)
	return 1
}

// zero is os.clock and collectgarbage: for a script that measures itself, no time passes and no memory is used, on every machine.
func zero(l *lua.LState) int {
	l.Push(lua.LNumber(0))
	return 1
}

// tostring formats numbers as Lua 5.1 does, with 14 digits where gopher-lua has more, and without addresses, which differ between
// runs.
func tostring(l *lua.LState) int {
	v := l.CheckAny(1)
	text := v.String()
	switch v := v.(type) {
	case lua.LNumber:
		text = formatNumber(float64(v), 14)
	case *lua.LTable, *lua.LFunction, *lua.LUserData, *lua.LState:
		text = v.Type().String() + ": 0x0"
		if l.GetMetaField(v, "__tostring") != lua.LNil {
			text = l.ToStringMeta(v).String()
		}
	}
	l.Push(lua.LString(text))
	return 1
}

func stringTable(l *lua.LState, list []string) *lua.LTable {
	t := l.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}
