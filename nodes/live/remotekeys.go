package live

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/proto"

	"lockstep/nodes/engine"
)

// A territory is the part of somebody's database that a lock node has: the keys with a prefix. A lock does not know of it. It
// names its keys as it always does; on the way to the server they get the prefix, and on the way back they lose it.
//
// What it cannot see is a script that names a key by itself, instead of taking it from KEYS, which Redis forbids in a
// cluster and nowhere else.
type territory struct {
	prefix string
	db     int // what is database 0 to a lock
}

// keyless are the commands that concern no keys, and nobody but the connection on which they come. What is neither here nor has
// its keys in the table of commands does not reach a server that is not ours.
var keyless = strings.Fields(`PING ECHO MULTI EXEC DISCARD UNWATCH TIME INFO ROLE WAIT QUIT HELLO SELECT SCRIPT|LOAD SCRIPT|EXISTS
	CLIENT|ID CLIENT|GETNAME CLIENT|SETNAME CLIENT|SETINFO CLIENT|TRACKING CLIENT|CACHING
	CLUSTER|INFO CLUSTER|NODES CLUSTER|SHARDS CLUSTER|SLOTS`)

// enter returns a command as it goes to the server, and the keys that it names, without the prefix. A refusal is what the client
// gets instead of a reply.
func (t territory) enter(cmd []string) (theirs, keys []string, refusal string) {
	theirs = slices.Clone(cmd)
	name := engine.FullName(cmd)
	at, refusal := t.keysOf(name, cmd)
	if refusal != "" {
		return nil, nil, refusal
	}
	for _, i := range at {
		keys = append(keys, cmd[i])
		theirs[i] = t.prefix + cmd[i]
	}
	switch name {
	case "SELECT":
		if len(cmd) == 2 {
			if cmd[1] != "0" {
				return nil, nil, "ERR DB index is out of range"
			}
			theirs[1] = strconv.Itoa(t.db)
		}
	case "HELLO":
		return t.hello(theirs)
	case "CLIENT|TRACKING":
		theirs = t.tracking(theirs)
	}
	return theirs, keys, ""
}

// keysOf says which elements of a command are keys.
func (t territory) keysOf(name string, cmd []string) (at []int, refusal string) {
	first, last, step := engine.KeyPositions(name)
	switch {
	case slices.Contains([]string{"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"}, name):
		if len(cmd) < 3 {
			return nil, "" // the server says what is missing
		}
		n, err := strconv.Atoi(cmd[2])
		switch {
		case err != nil || n < 0 || n > len(cmd)-3:
			return nil, "" // as above: it does not run
		case n == 0:
			return nil, "ERR a script that names no keys is not run on a server that is not Lockstep's: nobody can tell which it touches"
		}
		first, last, step = 3, 2+n, 1
	case name == "AUTH":
		return nil, "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	case slices.Contains(keyless, name):
		return nil, ""
	case first == 0:
		return nil, "ERR " + strings.ReplaceAll(name, "|", " ") + " is not sent to a server that is not Lockstep's: it concerns more than the keys that it names"
	case last < 0:
		last += len(cmd)
	}
	for i := first; i <= last && i < len(cmd); i += step {
		at = append(at, i)
	}
	return at, ""
}

// hello leaves out of HELLO who the client is: that is known, and by other names. A server without a password believes anybody who
// says that he is the default user.
func (t territory) hello(cmd []string) (theirs, keys []string, refusal string) {
	for i := 2; i+2 < len(cmd); i++ {
		if strings.EqualFold(cmd[i], "SETNAME") {
			i++
			continue
		}
		if !strings.EqualFold(cmd[i], "AUTH") {
			continue
		}
		if cmd[i+1] != "default" {
			return nil, nil, "WRONGPASS invalid username-password pair or user is disabled."
		}
		return slices.Delete(cmd, i, i+3), nil, ""
	}
	return cmd, nil, ""
}

// tracking has a client that wants to hear of all keys hear of those of its run.
func (t territory) tracking(cmd []string) []string {
	broadcasts, prefixed := false, false
	for i := 2; i < len(cmd); i++ {
		switch strings.ToUpper(cmd[i]) {
		case "BCAST":
			broadcasts = true
		case "PREFIX":
			if i+1 < len(cmd) {
				i++
				cmd[i], prefixed = t.prefix+cmd[i], true
			}
		}
	}
	if broadcasts && !prefixed {
		cmd = append(cmd, "PREFIX", t.prefix)
	}
	return cmd
}

// leave returns a value that the server sends, with the keys in it as the client knows them. The prefix is so long and so random
// that it stands nowhere by chance.
func (t territory) leave(value string) string {
	if !strings.Contains(value, t.prefix) {
		return value
	}
	var b strings.Builder
	for value != "" {
		line, rest, ok := strings.Cut(value, "\r\n")
		if !ok {
			break
		}
		value = rest
		n, err := strconv.Atoi(line[min(1, len(line)):])
		if line == "" || !strings.ContainsRune("$=!", rune(line[0])) || err != nil || n < 0 || n+2 > len(rest) {
			b.WriteString(strings.ReplaceAll(line, t.prefix, "") + "\r\n") // a number, a status, an error
			continue
		}
		text := strings.ReplaceAll(rest[:n], t.prefix, "")
		b.WriteString(line[:1] + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n")
		value = rest[n+2:]
	}
	return b.String() + value
}

// homeward is what a server says, as its client is to hear it.
type homeward struct {
	territory
	from *bufio.Reader
	rest string // of a value
}

func (h *homeward) Read(p []byte) (int, error) {
	if h.rest == "" {
		value, err := proto.Read(h.from)
		if err != nil {
			return 0, err
		}
		h.rest = h.leave(value)
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

var _ io.Reader = (*homeward)(nil)
