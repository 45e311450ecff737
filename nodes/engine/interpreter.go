package engine

import (
	"strings"
	"sync"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
)

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
	case run.readOnly && (c.write || c.name == "PUBLISH"): // PUBLISH is sent to replicas
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
