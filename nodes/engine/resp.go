package engine

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Limits of redis-server 7 for requests.
const (
	maxLine  = 64 << 10      // PROTO_INLINE_MAX_SIZE
	maxArgs  = math.MaxInt32 // elements of one command
	maxBytes = 512 << 20     // proto-max-bulk-len
)

// A ProtocolError says how bytes on a connection violate the protocol. Its text is the reply of redis-server, which then closes
// the connection.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// ParseCommands splits bytes that a client sent into commands, the command word first. Rest is an incomplete command. After a
// [ProtocolError] rest begins at the error, and cannot be parsed.
//
// Only rest shares memory with data.
func ParseCommands(data []byte) (cmds [][]string, rest []byte, err error) {
	for len(data) > 0 {
		args, n, err := ParseCommand(data)
		if err != nil || n == 0 {
			return cmds, data, err
		}
		data = data[n:]
		if len(args) > 0 {
			cmds = append(cmds, args)
		}
	}
	return cmds, data, nil
}

// ParseCommand parses the command at the start of data, and returns its size in bytes: 0 if it is incomplete. Empty commands have
// no args; redis-server ignores them.
//
// No library at hand does this: miniredis reads requests from a blocking reader in a goroutine of its own, and go-redis reads
// only replies.
func ParseCommand(data []byte) (args []string, n int, err error) {
	if data[0] != '*' {
		return parseInline(data)
	}
	count, pos, err := parseLength(data, 1, maxArgs, "too big mbulk count string", "invalid multibulk length")
	if err != nil || pos == 0 {
		return nil, 0, err
	}
	type span struct{ from, to int }
	var few [8]span
	spans := few[:0]
	for range count {
		if pos == len(data) {
			return nil, 0, nil
		}
		if data[pos] != '$' {
			return nil, 0, ProtocolError("expected '$', got '" + oneLine(string(data[pos:pos+1])) + "'")
		}
		length, from, err := parseLength(data, pos+1, maxBytes, "too big bulk count string", "invalid bulk length")
		if err != nil || from == 0 {
			return nil, 0, err
		}
		if length < 0 {
			return nil, 0, ProtocolError("invalid bulk length")
		}
		// Like redis-server, skip the two bytes after the argument without checking them.
		if pos = from + int(length) + len("\r\n"); pos > len(data) {
			return nil, 0, nil
		}
		spans = append(spans, span{from, from + int(length)})
	}
	// One string holds all arguments: two allocations for a command of any length.
	text := string(data[:pos])
	args = make([]string, 0, len(spans))
	for _, s := range spans {
		args = append(args, text[s.from:s.to])
	}
	return args, pos, nil
}

// Parsed is a request of one command with its parsed arguments. [DescribeParsed] fills it in, so that
// [Session.FeedParsed] need not parse the request again.
type Parsed struct {
	data []byte
	args []string
}

// take returns the parsed args of data, but only once: the command may change them.
func (p *Parsed) take(data []byte) (args []string) {
	if len(p.data) == len(data) && len(data) > 0 && &p.data[0] == &data[0] {
		args = p.args
		*p = Parsed{}
	}
	return args
}

// parseLength parses the number from pos to the end of the line, and returns where the next line begins: 0 if the line is
// incomplete.
func parseLength(data []byte, pos int, limit int64, tooLong, invalid ProtocolError) (length int64, next int, err error) {
	end := 1 // fast path: nearly every length has one digit
	if len(data)-pos <= end || data[pos+end] != '\r' {
		end = bytes.IndexByte(data[pos:], '\r')
	}
	if end < 0 && len(data)-pos > maxLine {
		return 0, 0, tooLong
	}
	if end < 0 || pos+end+1 == len(data) {
		return 0, 0, nil
	}
	length, ok := parseInt(data[pos : pos+end])
	if !ok || length > limit {
		return 0, 0, invalid
	}
	return length, pos + end + len("\r\n"), nil
}

// CutPayload splits data after the payload of the bulk string at its start. Whole is false if the payload is incomplete, or if
// data begin with anything else.
func CutPayload(data []byte) (payload, rest []byte, whole bool) {
	if len(data) == 0 || data[0] != '$' {
		return nil, data, false
	}
	size, from, err := parseLength(data, 1, maxBytes, "", "")
	if err != nil || from == 0 || size < 0 || len(data) < from+int(size) {
		return nil, data, false
	}
	return data[from : from+int(size)], data[from+int(size):], true
}

// parseInline parses a command as typed into telnet: words on one line, without quotes.
func parseInline(data []byte) (args []string, n int, err error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > maxLine {
			return nil, 0, ProtocolError("too big inline request")
		}
		return nil, 0, nil
	}
	return strings.Fields(string(data[:end])), end + 1, nil
}

// parseInt parses an integer as Redis does, which is stricter than strconv: no plus, no leading zeros, no spaces.
func parseInt[T string | []byte](s T) (int64, bool) {
	i, negative := 0, false
	if len(s) > 0 && s[0] == '-' {
		i, negative = 1, true
	}
	if len(s) == 1 && s[0] == '0' {
		return 0, true
	}
	if i == len(s) || s[i] == '0' {
		return 0, false
	}
	var n uint64
	for ; i < len(s); i++ {
		digit := uint64(s[i]) - '0'
		if digit > 9 || n > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	switch {
	case negative && n <= -math.MinInt64:
		return -int64(n), true
	case n <= math.MaxInt64: // if it is negative, the first case has it
		return int64(n), true
	}
	return 0, false
}

// Replies collects replies of a server in the form of the protocol.
type Replies []byte

// Write lets miniredis write to the replies.
func (w *Replies) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// Status, Fail, Array and Integer add a simple string, an error, the header of an array of n elements, and an integer of
// RESP.
func (w *Replies) Status(s string) { w.line('+', oneLine(s)) }
func (w *Replies) Fail(s string)   { w.line('-', oneLine(s)) }
func (w *Replies) Array(n int)     { w.number('*', int64(n)) }
func (w *Replies) Integer(n int64) { w.number(':', n) }

// Bulk adds a string that may contain any bytes.
func (w *Replies) Bulk(s string) {
	w.number('$', int64(len(s)))
	*w = append(append(*w, s...), '\r', '\n')
}

// Payload adds a string like Bulk, but without the final line end. A primary sends snapshots in this form, and
// [CutPayload] reads it.
func (w *Replies) Payload(data []byte) {
	w.number('$', int64(len(data)))
	*w = append(*w, data...)
}

// message starts a message of n elements: in RESP2 that is an array.
func (w *Replies) message(n int, resp3 bool) {
	if resp3 {
		w.number('>', int64(n))
		return
	}
	w.Array(n)
}

// null adds a null string. RESP3 does not distinguish it from a null array.
func (w *Replies) null(resp3 bool) {
	if resp3 {
		w.line('_', "")
		return
	}
	w.number('$', -1)
}

// NullArray adds a null array.
func (w *Replies) NullArray(resp3 bool) {
	if resp3 {
		w.line('_', "")
		return
	}
	w.number('*', -1)
}

// dict starts a map of n pairs.
func (w *Replies) dict(n int, resp3 bool) {
	if resp3 {
		w.number('%', int64(n))
		return
	}
	w.Array(2 * n)
}

func (w *Replies) line(kind byte, s string) {
	*w = append(append(append(*w, kind), s...), '\r', '\n')
}

func (w *Replies) number(kind byte, n int64) {
	*w = append(strconv.AppendInt(append(*w, kind), n, 10), '\r', '\n')
}

// oneLine removes line ends from a text.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// Request is a command as a client sends it.
func Request(args ...string) []byte {
	var w Replies
	w.command(args...)
	return w
}
