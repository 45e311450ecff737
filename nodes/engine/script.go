package engine

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"

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
	resp3    bool    // the protocol of the client
	own      Replies // what was published to the client itself, which it gets before the reply
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
	r.script = &running{session: s, keys: args[3 : 3+n], readOnly: readOnly || sc.readOnly, resp3: s.peer.Resp3}
	resp3 := s.peer.Resp3
	s.peer.Resp3 = false // scripts see RESP2
	value, failure := r.lua.call(sc, args[3:3+n], args[3+n:])
	s.peer.Resp3 = resp3
	r.out = append(r.out, r.script.own...)
	r.script = nil
	if failure != "" {
		r.out.Fail(failure)
		return
	}
	r.out.lua(value, resp3, 0)
}

const (
	scriptName  = "user_script" // as in error messages of redis-server
	maxCompiled = 1024          // so that a lock which writes tokens into its scripts does not fill the memory
)
