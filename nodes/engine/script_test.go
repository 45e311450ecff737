package engine

import (
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"lockstep/nodes/internal/redistest"
)

// TestScriptsAreSealed checks that a script leaves nothing behind for the next one, and reaches nothing outside.
func TestScriptsAreSealed(t *testing.T) {
	for _, body := range []string{
		"x = 1", "_G.x = 1", "redis.call = 1", "math.random = 1", "string.format = nil", "KEYS = 1", "table.x = 1", "cjson.x = 1",
		"return getmetatable(_G).__index", "getmetatable('').__index = 1", "function f() end", "os.exit()",
		"return dofile('/etc/passwd')", "return loadfile('/etc/passwd')", "print('x')", "require('io')", "return io", "return debug",
		"setfenv(1, {})", "return os.getenv('HOME')",
	} {
		r, _ := newNode(t)
		if got := r.Connect("").Do("EVAL", body, "0"); !strings.HasPrefix(got, "-ERR user_script:1: ") {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// TestMarkedInterpreterIsNotUsedAgain checks scripts that get around the seal.
func TestMarkedInterpreterIsNotUsedAgain(t *testing.T) {
	for _, body := range []string{"rawset(_G, 'x', 1)", "rawset(redis, 'call', 1)", "table.insert(math, 1)", "_G[1] = 1"} {
		r, _ := newNode(t)
		s := r.Connect("")
		s.Do("EVAL", body, "0")
		in := r.lua
		r.Restart(false)
		for range 100 {
			if other := openLua(r); other == in && !strings.HasPrefix(body, "_G[") {
				t.Fatalf("the interpreter of %s serves on", body)
			} else if key, _ := other.env.Next(lua.LNil); key != lua.LNil {
				t.Fatalf("%s left %v", body, key)
			}
		}
	}
}

// TestScriptsAreDeterministic runs scripts whose result would differ between runs in an ordinary interpreter.
func TestScriptsAreDeterministic(t *testing.T) {
	const body = `
		local t = {}
		for _, k in ipairs({'a', 'b', 'c', 'd', 'e', 'f'}) do t[k] = math.random(100) end
		local out = {}
		for k, v in pairs(t) do out[#out + 1] = k .. v end
		return {out, tostring(math.random()), tostring({}), tostring(os.clock()), collectgarbage('count')}`
	run := func() string {
		r, _ := newNode(t)
		s := r.Connect("")
		return s.Do("EVAL", body, "0") + s.Do("EVAL", body, "0")
	}
	want := run()
	if strings.Contains(want, "0xc0") {
		t.Errorf("an address: %q", want)
	}
	for range 20 {
		if got := run(); got != want {
			t.Fatalf("got %q, then %q", want, got)
		}
	}
}

// TestRandomNumbersAreThoseOfRedis compares whole sequences from the start of a process.
func TestRandomNumbersAreThoseOfRedis(t *testing.T) {
	r, _ := newNode(t)
	node, redis := r.Connect(""), redistest.Start(t).Connect()
	for _, body := range []string{
		"local t = {} for i = 1, 50 do t[i] = math.random(1000000) end return t",
		"return tostring(math.random())",
		"math.randomseed(42) return {math.random(10), math.random(-5, 5), tostring(math.random())}",
		"math.randomseed(-1) return {math.random(10), math.random(-5, 5), tostring(math.random())}",
	} {
		if got, want := node.Do("EVAL", body, "0"), redis.Do("EVAL", body, "0"); got != want {
			t.Errorf("%s: node answers %q, redis-server %q", body, got, want)
		}
	}
}

// TestScriptMemoryIsBounded compiles more scripts than are kept.
func TestScriptMemoryIsBounded(t *testing.T) {
	r, _ := newNode(t)
	s := r.Connect("")
	for i := range maxCompiled + 10 {
		if got, want := s.Do("EVAL", fmt.Sprintf("return %d", i), "0"), fmt.Sprintf(":%d\r\n", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if n := len(compiled.scripts); n > maxCompiled {
		t.Errorf("%d scripts are kept", n)
	}
}

// TestScriptThatReturnsItself runs a script whose reply would overflow the stack of the whole program if it were built.
func TestScriptThatReturnsItself(t *testing.T) {
	r, _ := newNode(t)
	got := r.Connect("").Do("EVAL", "local t = {} t[1] = t return t", "0")
	if !strings.HasSuffix(got, "-ERR reached lua stack limit\r\n") {
		t.Errorf("%q", got)
	}
}
