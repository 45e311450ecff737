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

// A keyPrefix keeps the keys of a lock node apart from other keys in somebody's database. The lock does not know of the prefix: it
// is added to keys on their way to the server, and removed on their way back.
//
// A script that names a key in its text, and does not take it from KEYS, goes unnoticed. Redis forbids such scripts only in a cluster.
type keyPrefix struct {
	prefix string
	db     int // what is database 0 to a lock
}

// keyless are the commands that concern no keys, and no connection but their own. A command that is neither here nor has
// its keys in the table of commands is not sent to a server that is not ours.
var keyless = strings.Fields(`PING ECHO MULTI EXEC DISCARD UNWATCH TIME INFO ROLE WAIT QUIT HELLO SELECT SCRIPT|LOAD SCRIPT|EXISTS
	CLIENT|ID CLIENT|GETNAME CLIENT|SETNAME CLIENT|SETINFO CLIENT|TRACKING CLIENT|CACHING
	CLUSTER|INFO CLUSTER|NODES CLUSTER|SHARDS CLUSTER|SLOTS`)

// add returns a command as it goes to the server, and the keys that it names, without the prefix. A refusal is an error that the
// client gets instead of a reply; the command is not sent.
func (t keyPrefix) add(cmd []string) (theirs, keys []string, refusal string) {
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
func (t keyPrefix) keysOf(name string, cmd []string) (at []int, refusal string) {
	first, last, step := engine.KeyPositions(name)
	switch {
	case slices.Contains([]string{"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"}, name):
		if len(cmd) < 3 {
			return nil, "" // the server reports what is missing
		}
		n, err := strconv.Atoi(cmd[2])
		switch {
		case err != nil || n < 0 || n > len(cmd)-3:
			return nil, "" // as above: the server refuses it
		case n == 0:
			return nil, "ERR a script that names no keys is not run on a server that is not Lockstep's: nobody can tell which it touches"
		}
		first, last, step = 3, 2+n, 1
	case name == "AUTH":
		return nil, "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	case pushes(name):
		return nil, "ERR " + name + " is not sent to a server that is not Lockstep's: its replies come unasked or late. Of these commands, simulated nodes have SUBSCRIBE, PSUBSCRIBE, BLPOP and BRPOP"
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

// hello removes the user and the name of the client from HELLO: the server knows us by others. AUTH as the default
// user succeeds with any password, as on a server without one.
func (t keyPrefix) hello(cmd []string) (theirs, keys []string, refusal string) {
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

// tracking restricts CLIENT TRACKING in broadcast mode to the keys of the run.
func (t keyPrefix) tracking(cmd []string) []string {
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

// strip returns a reply of the server without the prefix of keys. The prefix is long and random enough not to occur by
// chance.
func (t keyPrefix) strip(value string) string {
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
			b.WriteString(strings.ReplaceAll(line, t.prefix, "") + "\r\n") // a number, a status or an error
			continue
		}
		text := strings.ReplaceAll(rest[:n], t.prefix, "")
		b.WriteString(line[:1] + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n")
		value = rest[n+2:]
	}
	return b.String() + value
}

// replyReader reads the replies of a server and removes the prefix from them.
type replyReader struct {
	keyPrefix
	from *bufio.Reader
	rest string // of a reply
}

func (h *replyReader) Read(p []byte) (int, error) {
	if h.rest == "" {
		value, err := proto.Read(h.from)
		if err != nil {
			return 0, err
		}
		h.rest = h.strip(value)
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

var _ io.Reader = (*replyReader)(nil)
