package engine

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"

	"lockstep/sim/history"
)

// DescribeRequest describes commands for timelines. Tokens are named by the function name, and scripts are shortened to the
// beginning of their digest.
func DescribeRequest(data []byte, name func(string) string) string {
	return DescribeParsed(data, &Parsed{}, name)
}

// DescribeParsed is [DescribeRequest] for a caller that also needs the parsed commands.
func DescribeParsed(data []byte, p *Parsed, name func(string) string) string {
	var b strings.Builder
	b.Grow(len(data))                                                    // the text is shorter than data: commands come with the lengths of their arguments, and tokens are longer than names
	if cmd, n, _ := ParseCommand(data); n == len(data) && len(cmd) > 0 { // the usual case
		describeCommand(&b, cmd, name)
		*p = Parsed{data, cmd}
		return b.String()
	}
	cmds, rest, err := ParseCommands(data)
	if err != nil || len(rest) > 0 || len(cmds) == 0 {
		return strconv.Quote(string(data))
	}
	for i, cmd := range cmds {
		if i > 0 {
			b.WriteString("; ")
		}
		describeCommand(&b, cmd, name)
	}
	return b.String()
}

func describeCommand(b *strings.Builder, cmd []string, name func(string) string) {
	word := strings.ToUpper(cmd[0])
	b.WriteString(word)
	values := valuesFrom(word, cmd)
	for i, arg := range cmd[1:] {
		i++
		b.WriteByte(' ')
		switch {
		case i == 1 && word == "EVALSHA" && len(arg) == 40:
			b.WriteString(arg[:6])
		case i == 1 && word == "EVAL":
			digest := sha1.Sum([]byte(arg))
			b.WriteString(hex.EncodeToString(digest[:3]))
		case i >= values && len(arg) >= history.TokenLength:
			b.WriteString(name(arg))
		default:
			b.WriteString(printable(arg))
		}
	}
}

// valuesFrom returns the index of the first argument that may be a token. Arguments before it may be long too, but are keys.
func valuesFrom(word string, cmd []string) int {
	switch word {
	case "SET", "SETNX", "GETSET", "DELEX", "APPEND", "HSET", "HSETNX", "HGET", "HDEL", "HEXISTS", "HINCRBY",
		"SADD", "SREM", "SISMEMBER", "LPUSH", "RPUSH", "LREM", "ZADD", "ZREM", "ZSCORE", "ZRANK":
		return 2
	case "SETEX", "PSETEX":
		return 3
	case "PUBLISH":
		if len(cmd) > 1 && !strings.HasPrefix(cmd[1], "__sentinel__") { // what Sentinels tell each other is long, but no token
			return 2
		}
	case "EVAL", "EVALSHA":
		if len(cmd) > 2 {
			if keys, err := strconv.Atoi(cmd[2]); err == nil {
				return 3 + keys
			}
		}
	}
	return len(cmd)
}

// DescribeReply describes a reply for timelines, as "OK", "nil" or "1", with tokens named.
func DescribeReply(data []byte, name func(string) string) string {
	if len(data) > 0 && data[0] != '$' && data[0] != '*' {
		if line, rest, ok := bytes.Cut(data[1:], []byte("\r\n")); ok && len(rest) == 0 && strings.IndexByte("+-:", data[0]) >= 0 {
			return string(line)
		}
	}
	var b strings.Builder
	for len(data) > 0 {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		rest, ok := describeValue(&b, data, name)
		if !ok {
			return strconv.Quote(string(data))
		}
		data = rest
	}
	return b.String()
}

// describeValue describes the first value of data, and returns the rest.
func describeValue(b *strings.Builder, data []byte, name func(string) string) ([]byte, bool) {
	line, rest, ok := bytes.Cut(data, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return nil, false
	}
	kind, text := line[0], string(line[1:])
	switch kind {
	case '$':
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, false
		}
		if n < 0 {
			b.WriteString("nil")
			return rest, true
		}
		if n > len(rest)-2 {
			return nil, false
		}
		value := string(rest[:n])
		switch lines := strings.Split(value, "\r\n"); {
		case len(lines) > 1: // INFO
			b.WriteString(strings.Join(lines[:2], " "))
		case n >= history.TokenLength:
			b.WriteString(printable(name(value)))
		default:
			b.WriteString(printable(value))
		}
		return rest[n+2:], true
	case '*', '%', '~', '>':
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, false
		}
		if n < 0 {
			b.WriteString("nil")
			return rest, true
		}
		if kind == '%' {
			n *= 2
		}
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			if rest, ok = describeValue(b, rest, name); !ok {
				return nil, false
			}
		}
		b.WriteByte(']')
		return rest, true
	case '_':
		b.WriteString("nil")
		return rest, true
	}
	b.WriteString(text)
	return rest, true
}

// mostShown is how many bytes of an argument are shown. A longer one is identified by its digest.
const mostShown = 4000

// printable returns plain text without spaces unchanged, and quotes any other.
func printable(s string) string {
	if s == "" {
		return `""`
	}
	if len(s) > mostShown {
		digest := sha1.Sum([]byte(s))
		s = history.Shortened(s, mostShown) + " " + hex.EncodeToString(digest[:3])
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '"' {
			return strconv.Quote(s)
		}
	}
	return s
}

// DescribeStream describes, on one line, what one server sends to another: a reply to PSYNC, effects, or INFO. It reports whether
// data is one of these.
func DescribeStream(data []byte, name func(string) string) (text string, ok bool) {
	var head string
	if bytes.HasPrefix(data, []byte("+FULLRESYNC ")) {
		line, rest, _ := bytes.Cut(data[1:], []byte("\r\n"))
		if _, _, whole := CutPayload(rest); !whole {
			return "", false
		}
		// The payload has the form of the stream, and is followed by the stream.
		_, data, _ = bytes.Cut(rest, []byte("\r\n"))
		head = string(line)
		if len(data) == 0 {
			return head, true
		}
		head += "; "
	}
	if text, ok := describeInfo(data); ok && head == "" {
		return text, true
	}
	if !bytes.HasPrefix(data, []byte("*")) {
		return "", false
	}
	cmds, rest, err := ParseCommands(data)
	if err != nil || len(rest) > 0 {
		return "", false
	}
	for _, args := range cmds { // a reply may be an array of strings too
		if c := commands[args[0]]; args[0] != "REPLCONF" && (c == nil || c.name != args[0]) {
			return "", false
		}
	}
	return head + DescribeRequest(data, name), true
}

// describeInfo describes the reply to INFO on one line.
func describeInfo(data []byte) (text string, ok bool) {
	head, info, ok := bytes.Cut(data, []byte("\r\n# "))
	if !ok || !bytes.HasPrefix(head, []byte("$")) {
		return "", false
	}
	return strings.Join(strings.Fields(string(info)), " "), true
}
