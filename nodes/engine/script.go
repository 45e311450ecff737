package engine

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"sync"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// miniredis makes a new Lua interpreter for each EVAL, at 100 µs and 185 kB, and takes random numbers from the source of the
// whole Go process. A node has one interpreter for the lifetime of its process, as redis-server does, and the random numbers of
// redis-server.

// A script is a Lua program, compiled. It is immutable.
type script struct {
	sha      string
	program  *lua.FunctionProto
	flags    bool // its first line has flags, with which Redis 7 decides what it may do
	readOnly bool // it says flags=no-writes
}

// running is a script in execution.
type running struct {
	session  *Session
	keys     []string // its declared keys
	readOnly bool
}

// compiled caches the scripts of the whole process. Compiling a script takes longer than running it, and many short simulations
// use the same few.
var compiled = struct {
	sync.Mutex
	scripts map[string]*script // by their text
}{scripts: map[string]*script{}}

// compile compiles a script. A refusal is the error reply.
func compile(text string) (s *script, refusal string) {
	compiled.Lock()
	defer compiled.Unlock()
	if s := compiled.scripts[text]; s != nil {
		return s, ""
	}
	s = &script{sha: sha1Hex(text)}
	body := text
	if strings.HasPrefix(text, "#!") {
		line, _, _ := strings.Cut(text, "\n")
		s.flags = true
		if s.readOnly, refusal = shebang(line); refusal != "" {
			return nil, refusal
		}
		body = text[len(line):] // keep the line break, for correct line numbers
	}
	chunk, err := parse.Parse(strings.NewReader(body), scriptName)
	if err == nil {
		s.program, err = lua.Compile(chunk, scriptName)
	}
	if err != nil {
		return nil, "ERR Error compiling script (new function): " + strings.TrimSpace(err.Error())
	}
	// As in Lua 5.1, a main program gets no table of its arguments; gopher-lua would make one for each call.
	s.program.IsVarArg &^= lua.VarArgNeedsArg
	if len(compiled.scripts) == maxCompiled {
		clear(compiled.scripts)
	}
	compiled.scripts[text] = s
	return s, ""
}

const (
	scriptName  = "user_script" // as in error messages of redis-server
	maxCompiled = 1024          // so that a lock which writes tokens into its scripts does not fill the memory
)

// shebang parses the first line of a script of Redis 7, such as #!lua flags=no-writes.
func shebang(line string) (readOnly bool, refusal string) {
	words := strings.Fields(line)
	if words[0] != "#!lua" {
		return false, "ERR Unexpected engine in script shebang: " + words[0]
	}
	for _, word := range words[1:] {
		flags, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return false, "ERR Unknown lua shebang option: " + word
		}
		for flag := range strings.SplitSeq(flags, ",") {
			switch flag {
			case "no-writes":
				readOnly = true
			case "", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return false, "ERR Unexpected flag in script shebang: " + flag
			}
		}
	}
	return readOnly, ""
}

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func runScriptLoad(r *Redis, _ *Session, _ *command, args []string) {
	s, refusal := compile(args[2])
	if refusal != "" {
		r.out.Fail(refusal)
		return
	}
	r.scripts[s.sha] = s
	r.out.Bulk(s.sha)
}

func runScriptExists(r *Redis, _ *Session, _ *command, args []string) {
	r.out.Array(len(args) - 2)
	for _, sha := range args[2:] {
		if r.scripts[strings.ToLower(sha)] != nil {
			r.out.Integer(1)
		} else {
			r.out.Integer(0)
		}
	}
}

func runScriptFlush(r *Redis, _ *Session, _ *command, args []string) {
	if len(args) > 3 || len(args) == 3 && !strings.EqualFold(args[2], "SYNC") && !strings.EqualFold(args[2], "ASYNC") {
		r.out.Fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	clear(r.scripts)
	r.out.Status("OK")
}

// runEval is EVAL, EVALSHA, and their read-only forms.
func runEval(r *Redis, s *Session, c *command, args []string) {
	n, ok := parseInt(args[2])
	switch {
	case !ok:
		r.out.Fail(notInteger)
		return
	case n > int64(len(args)-3):
		r.out.Fail("ERR Number of keys can't be greater than number of args")
		return
	case n < 0:
		r.out.Fail("ERR Number of keys can't be negative")
		return
	}
	var sc *script
	if strings.HasPrefix(c.name, "EVALSHA") {
		if sc = r.scripts[strings.ToLower(args[1])]; sc == nil {
			r.out.Fail("NOSCRIPT No matching script. Please use EVAL.")
			return
		}
	} else {
		var refusal string
		if sc, refusal = compile(args[1]); refusal != "" {
			r.out.Fail(refusal)
			return
		}
		r.scripts[sc.sha] = sc
	}
	readOnly := strings.HasSuffix(c.name, "_RO")
	if readOnly && sc.flags && !sc.readOnly {
		r.out.Fail("ERR Can not execute a script with write flag using *_ro command.")
		return
	}
	if r.lua == nil {
		r.lua = openLua(r)
	}
	r.script = &running{session: s, keys: args[3 : 3+n], readOnly: readOnly || sc.readOnly}
	resp3 := s.peer.Resp3
	s.peer.Resp3 = false // scripts see RESP2
	value, failure := r.lua.call(sc, args[3:3+n], args[3+n:])
	s.peer.Resp3 = resp3
	r.script = nil
	if failure != "" {
		r.out.Fail(failure)
		return
	}
	r.out.lua(value, resp3, 0)
}

// An interpreter runs the scripts of one node.
type interpreter struct {
	redis   *Redis
	state   *lua.LState
	globals *lua.LTable   // what scripts can read
	env     *lua.LTable   // the globals of scripts: reads go to globals, and writes fail
	views   []*lua.LTable // all views made by readOnly
	random  drand48
}

// idle are interpreters for reuse: making one takes a good part of the time of a short simulation.
var idle sync.Pool

// openLua returns an interpreter that is new or in the state of a new one.
func openLua(r *Redis) *interpreter {
	in, ok := idle.Get().(*interpreter)
	if !ok {
		in = newInterpreter()
	}
	in.redis, in.random = r, firstDrand48
	return in
}

// close returns an interpreter for reuse, unless a script has changed it, with rawset or table.insert on a library.
func (in *interpreter) close() {
	for _, view := range in.views {
		if key, _ := view.Next(lua.LNil); key != lua.LNil {
			return
		}
	}
	in.redis = nil
	idle.Put(in)
}

func newInterpreter() *interpreter {
	in := &interpreter{state: lua.NewState(lua.Options{
		SkipOpenLibs: true, RegistrySize: 256, RegistryMaxSize: 1 << 18, CallStackSize: 200, MinimizeStackMemory: true,
	})}
	l := in.state
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath, lua.OpenCoroutine} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	in.globals = l.G.Global
	// These functions would leave the sandbox, or would reveal gopher-lua.
	for _, name := range []string{
		"dofile", "loadfile", "print", "require", "module", "getfenv", "setfenv", "newproxy", "_printregs",
		"_GOPHER_LUA_VERSION",
	} {
		in.globals.RawSetString(name, lua.LNil)
	}
	in.define(in.globals, map[string]lua.LGFunction{
		"pcall": in.protected(l.GetGlobal("pcall")), "tostring": tostring, "collectgarbage": zero,
	})
	in.define(l.GetGlobal("math").(*lua.LTable), map[string]lua.LGFunction{
		"random": in.random.random, "randomseed": in.random.seed,
	})
	redis := l.CreateTable(0, 0)
	in.define(redis, map[string]lua.LGFunction{
		"call": in.redisCall, "pcall": in.redisPCall,
		"error_reply": errorReply, "status_reply": statusReply, "sha1hex": luaSHA1,
		"log": luaLog, "set_repl": ignore, "replicate_commands": yes, "breakpoint": no, "setresp": setresp,
	})
	for name, value := range map[string]lua.LValue{
		"LOG_DEBUG": lua.LNumber(0), "LOG_VERBOSE": lua.LNumber(1), "LOG_NOTICE": lua.LNumber(2), "LOG_WARNING": lua.LNumber(3),
		"REPL_NONE": lua.LNumber(0), "REPL_AOF": lua.LNumber(1), "REPL_SLAVE": lua.LNumber(2), "REPL_REPLICA": lua.LNumber(2),
		"REPL_ALL": lua.LNumber(3), "REDIS_VERSION": lua.LString("7.0.15"), "REDIS_VERSION_NUM": lua.LNumber(0x7000f),
	} {
		redis.RawSetString(name, value)
	}
	os := l.CreateTable(0, 0)
	in.define(os, map[string]lua.LGFunction{"clock": zero})
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	cjson := l.Get(-1).(*lua.LTable)
	l.Pop(1)

	for name, module := range map[string]*lua.LTable{
		"redis": redis, "os": os, "cjson": cjson,
		"math":      l.GetGlobal("math").(*lua.LTable),
		"string":    l.GetGlobal("string").(*lua.LTable),
		"table":     l.GetGlobal("table").(*lua.LTable),
		"coroutine": l.GetGlobal("coroutine").(*lua.LTable),
	} {
		in.globals.RawSetString(name, in.readOnly(module))
	}
	l.GetMetatable(lua.LString("")).(*lua.LTable).RawSetString("__metatable", lua.LFalse)
	in.env = in.readOnly(in.globals)
	in.globals.RawSetString("_G", in.env)
	missing := l.CreateTable(0, 0)
	in.define(missing, map[string]lua.LGFunction{"__index": missingGlobal})
	l.SetMetatable(in.globals, missing)
	return in
}

func (in *interpreter) define(t *lua.LTable, functions map[string]lua.LGFunction) {
	for name, f := range functions {
		t.RawSetString(name, in.state.NewFunction(f))
	}
}

// readOnly returns a view of a table that scripts cannot write to: otherwise one script could see what another has left.
func (in *interpreter) readOnly(t *lua.LTable) *lua.LTable {
	meta := in.state.CreateTable(0, 0)
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LFalse)
	in.define(meta, map[string]lua.LGFunction{"__newindex": refuseWrite})
	view := in.state.CreateTable(0, 0)
	in.state.SetMetatable(view, meta)
	in.views = append(in.views, view)
	return view
}

func refuseWrite(l *lua.LState) int {
	l.RaiseError("Attempt to modify a readonly table")
	return 0
}

func missingGlobal(l *lua.LState) int {
	l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToString(2))
	return 0
}

// call runs a script. If it fails, the error is the reply.
func (in *interpreter) call(s *script, keys, argv []string) (value lua.LValue, failure string) {
	l := in.state
	in.globals.RawSetString("KEYS", stringTable(l, keys))
	in.globals.RawSetString("ARGV", stringTable(l, argv))
	f := l.NewFunctionFromProto(s.program)
	f.Env = in.env
	l.Push(f)
	err := l.PCall(0, 1, nil)
	if err == nil {
		value = l.Get(-1)
	} else {
		value, failure = nil, explain(s, err)
	}
	l.SetTop(0)
	return value, failure
}

// explain words the error reply for a script that failed as redis-server does.
func explain(s *script, err error) string {
	failed, ok := err.(*lua.ApiError)
	if !ok {
		return "ERR " + err.Error()
	}
	message := "ERR " + failed.Object.String()
	if t, ok := failed.Object.(*lua.LTable); ok {
		message = "ERR unknown error"
		if e := t.RawGetString("err"); e != lua.LNil {
			message = e.String()
		}
	}
	// The innermost line of the script in the stack trace is where it failed.
	line := "1"
	if _, after, ok := strings.Cut(failed.StackTrace, scriptName+":"); ok {
		line, _, _ = strings.Cut(after, ":")
	}
	return message + " script: " + s.sha + ", on @" + scriptName + ":" + line + "."
}

func stringTable(l *lua.LState, list []string) *lua.LTable {
	t := l.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}

// redisCall is redis.call: an error of the command is an error of the script.
func (in *interpreter) redisCall(l *lua.LState) int {
	reply := in.command(l)
	if t, ok := reply.(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
		l.Error(t, 1)
	}
	l.Push(reply)
	return 1
}

// redisPCall is redis.pcall: an error of the command is a table with the field err.
func (in *interpreter) redisPCall(l *lua.LState) int {
	l.Push(in.command(l))
	return 1
}

// command runs the command on the stack and returns its reply as a Lua value.
func (in *interpreter) command(l *lua.LState) lua.LValue {
	n := l.GetTop()
	if n == 0 {
		return luaError(l, "ERR Please specify at least one argument for this redis lib call")
	}
	args := make([]string, n)
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(a)
		case lua.LNumber:
			args[i] = formatNumber(float64(a), 17)
		default:
			return luaError(l, "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	r, run := in.redis, in.redis.script
	c, refusal := r.lookup(args)
	switch {
	case c == nil:
		return luaError(l, "ERR Unknown Redis command called from script")
	case refusal != "":
		return luaError(l, "ERR Wrong number of args calling Redis command from script")
	case c.noScript:
		return luaError(l, "ERR This Redis command is not allowed from script")
	case run.readOnly && c.write:
		return luaError(l, "ERR Write commands are not allowed from read-only scripts.")
	}
	if refusal := r.forbids(run.session, c, args); refusal != "" {
		return luaError(l, refusal)
	}
	mark := len(r.out)
	r.do(run.session, c, args)
	value, _ := parseReply(l, r.out[mark:])
	r.out = r.out[:mark]
	return value
}

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

// protected is pcall as redis-server redefines it: an error that is a table with the field err becomes the text in that field.
func (in *interpreter) protected(pcall lua.LValue) lua.LGFunction {
	return func(l *lua.LState) int {
		n := l.GetTop()
		l.Insert(pcall, 1)
		l.Call(n, lua.MultRet)
		if t, ok := l.Get(2).(*lua.LTable); ok && l.Get(1) == lua.LFalse {
			if e := t.RawGetString("err"); e != lua.LNil {
				l.Replace(2, e)
			}
		}
		return l.GetTop()
	}
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
