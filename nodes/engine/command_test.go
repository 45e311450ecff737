package engine

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/proto"

	"lockstep/nodes/internal/redistest"
)

// TestCommandTable compares the table of commands with what redis-server says about its own.
func TestCommandTable(t *testing.T) {
	server := redistest.Start(t)
	reply, err := proto.Parse(server.Connect().Do("COMMAND"))
	if err != nil {
		t.Fatal(err)
	}
	newer := []string{"DELEX"} // newer than redis-server 7.0
	known := map[string]bool{}
	var check func(info []any)
	check = func(info []any) {
		name := strings.ToUpper(info[0].(string))
		known[name] = true
		c := commands[name]
		if c == nil {
			// Some subcommands of a container are simulated. A whole command that is not simulated must be refused by name.
			if !strings.Contains(name, "|") && !slices.Contains(unsimulated, name) {
				t.Errorf("%s is neither simulated nor refused", name)
			}
			return
		}
		if slices.Contains(unsimulated, name) {
			t.Errorf("%s is both simulated and refused", name)
		}
		flags := info[2].([]any)
		got := fmt.Sprintln(c.arity, c.first, c.last, c.step, c.write, c.noScript)
		want := fmt.Sprintln(info[1], info[3], info[4], info[5],
			slices.Contains(flags, any("write")), slices.Contains(flags, any("noscript")))
		if got != want {
			t.Errorf("%s: the table says %sredis-server says %s", name, got, want)
		}
		subs := info[len(info)-1].([]any)
		if c.container != (len(subs) > 0) {
			t.Errorf("%s: container %v, but %d subcommands", name, c.container, len(subs))
		}
		for _, sub := range subs {
			check(sub.([]any))
		}
	}
	for _, info := range reply.([]any) {
		check(info.([]any))
	}
	for _, name := range unsimulated {
		if !known[name] {
			t.Errorf("%s is refused, but redis-server does not know it either", name)
		}
	}
	for name, c := range commands {
		if name == c.name && !known[name] && !slices.Contains(newer, name) {
			t.Errorf("%s is unknown to redis-server", name)
		}
	}
}

// TestDocumentedCommands: docs/fidelity.md lists the commands that a node runs.
func TestDocumentedCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/fidelity.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Which commands are simulated")
	_, list, _ := strings.Cut(section, "```")
	list, _, _ = strings.Cut(list, "```")
	var want []string
	for name, c := range commands {
		if name == c.name && !c.container {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := strings.Fields(list); !slices.Equal(got, want) {
		t.Errorf("documented are\n%s\nbut there are\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// TestDelex covers the only command that the installed redis-server lacks.
func TestDelex(t *testing.T) {
	r, _ := newNode(t)
	s := r.Connect("c1")
	redistest.Expect(t, s, "SET lock t1", "+OK")
	redistest.Expect(t, s, "DELEX lock IFEQ t2", ":0")
	redistest.Expect(t, s, "DELEX lock IFEQ t1", ":1")
	redistest.Expect(t, s, "EXISTS lock", ":0")
}

func TestFullName(t *testing.T) {
	for cmd, want := range map[string]string{"set lock t1": "SET", "client id": "CLIENT|ID", "client": "CLIENT", "foo bar": "FOO"} {
		if got := FullName(strings.Fields(cmd)); got != want {
			t.Errorf("%s: %s, want %s", cmd, got, want)
		}
	}
}

func TestSession(t *testing.T) {
	r, _ := newNode(t)
	s, other := r.Connect("c1"), r.Connect("c2")
	redistest.Expect(t, s, "CLIENT ID", ":1")
	redistest.Expect(t, other, "CLIENT ID", ":2")
	redistest.Expect(t, s, "AUTH default x", "+OK")
	redistest.Expect(t, s, "AUTH x default", "-WRONGPASS invalid username-password pair or user is disabled.")
	redistest.Expect(t, s, "CLIENT GETNAME", "$-1")
	redistest.Expect(t, s, "CLIENT SETNAME worker", "+OK")
	redistest.Expect(t, s, "HELLO 3 SETNAME me", "%7 $6 server $5 redis $7 version $6 7.0.15 $5 proto :3 $2 id :1 "+
		"$4 mode $10 standalone $4 role $6 master $7 modules *0")
	redistest.Expect(t, s, "CLIENT GETNAME", "$2 me")
	redistest.Expect(t, s, "GET none", "_")
	redistest.Expect(t, other, "GET none", "$-1")
	redistest.Expect(t, s, "EVAL return{false,redis.call('get','none')} 0", "*2 _ _")

	redistest.Expect(t, s, "MULTI", "+OK")
	redistest.Expect(t, s, "QUIT", "+OK")
	if !s.Closed() || s.Do("PING") != "" {
		t.Error("QUIT did not close the session")
	}
	other.Close()
	if !other.Closed() || other.Do("PING") != "" {
		t.Error("Close did not close the session")
	}
}
