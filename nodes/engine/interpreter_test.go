package engine

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
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
