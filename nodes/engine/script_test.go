package engine

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/nodes/internal/redistest"
)

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
