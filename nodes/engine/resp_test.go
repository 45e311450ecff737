package engine

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lockstep/nodes/internal/redistest"
)

func TestParseCommands(t *testing.T) {
	long := strings.Repeat("x", maxLine+1)
	for _, test := range []struct {
		in   string
		cmds [][]string
		rest string
		err  string
	}{
		{in: ""},
		{in: "*1\r\n$4\r\nPING\r\n", cmds: [][]string{{"PING"}}},
		{in: "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n", cmds: [][]string{{"PING"}, {"GET", ""}}},
		{in: "*2\r\n$3\r\nGET\r\n$4\r\n\r\n\r\n\r\n", cmds: [][]string{{"GET", "\r\n\r\n"}}},
		{in: "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", cmds: [][]string{{"PING"}}, rest: "*1\r\n$4\r\nPI"},
		{in: "*1", rest: "*1"},
		{in: "*1\r", rest: "*1\r"},
		{in: "*1\r\n$4\r\nPING\r", rest: "*1\r\n$4\r\nPING\r"},
		{in: "*0\r\n*-1\r\n\r\nPING\r\n", cmds: [][]string{{"PING"}}},
		{in: "set  k v\n", cmds: [][]string{{"set", "k", "v"}}},
		{in: "*x\r\n", rest: "*x\r\n", err: "Protocol error: invalid multibulk length"},
		{in: "PING\r\n*\r\n", cmds: [][]string{{"PING"}}, rest: "*\r\n", err: "Protocol error: invalid multibulk length"},
		{in: "*01\r\n", rest: "*01\r\n", err: "Protocol error: invalid multibulk length"},
		{in: "*2147483648\r\n", rest: "*2147483648\r\n", err: "Protocol error: invalid multibulk length"},
		{in: "*1\r\nx\r\n", rest: "*1\r\nx\r\n", err: "Protocol error: expected '$', got 'x'"},
		{in: "*1\r\n$-1\r\n", rest: "*1\r\n$-1\r\n", err: "Protocol error: invalid bulk length"},
		{in: "*1\r\n$536870913\r\n", rest: "*1\r\n$536870913\r\n", err: "Protocol error: invalid bulk length"},
		{in: "*" + long, rest: "*" + long, err: "Protocol error: too big mbulk count string"},
		{in: "*1\r\n$" + long, rest: "*1\r\n$" + long, err: "Protocol error: too big bulk count string"},
		{in: long, rest: long, err: "Protocol error: too big inline request"},
	} {
		cmds, rest, err := ParseCommands([]byte(test.in))
		message := ""
		if err != nil {
			message = err.Error()
		}
		if !reflect.DeepEqual(cmds, test.cmds) || string(rest) != test.rest || message != test.err {
			t.Errorf("%.40q: got %q, %.40q, %q; want %q, %.40q, %q", test.in, cmds, rest, message, test.cmds, test.rest, test.err)
		}
	}
}

func TestParseInt(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1, "-1": -1, "10": 10, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63,
	} {
		if n, ok := parseInt(in); n != want || !ok {
			t.Errorf("%q: %d, %v", in, n, ok)
		}
	}
	for _, in := range []string{
		"", "-", "+1", "01", "-0", "-01", " 1", "1 ", "1.0", "x", "0x1", "9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "99999999999999999999999",
	} {
		if n, ok := parseInt(in); ok {
			t.Errorf("%q: %d", in, n)
		}
	}
}

// TestFeedInPieces cuts a pipeline at every place.
func TestFeedInPieces(t *testing.T) {
	var stream []byte
	for _, command := range []string{
		"SET k v NX PX 100", "GET k", "MULTI", "INCR n", "GET n", "EXEC", "NOSUCH", "EVAL return{1,ARGV[1]} 0 x", "PING",
	} {
		stream = redistest.AppendCommand(stream, strings.Fields(command)...)
	}
	const want = "+OK\r\n$1\r\nv\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n$1\r\n1\r\n" +
		"-ERR unknown command 'NOSUCH', with args beginning with: \r\n*2\r\n:1\r\n$1\r\nx\r\n+PONG\r\n"
	feed := func(size int) string {
		r, _ := newNode(t)
		s := r.Connect("c1")
		var got []byte
		for piece := range slices.Chunk(stream, size) {
			// A caller may reuse its buffer.
			piece = bytes.Clone(piece)
			got = append(got, s.Feed(piece)...)
			clear(piece)
		}
		return string(got)
	}
	for size := 1; size <= len(stream); size++ {
		if got := feed(size); got != want {
			t.Fatalf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

// broken has streams that violate the protocol, or almost do.
var broken = []string{
	"*a\r\n", "*1\r\nfoo\r\n", "*1\r\n\r\n", "*1\r\n$a\r\n", "*1\r\n$-1\r\n", "*1\r\n$600000000\r\n", "*1x\r\n", "*\r\nPING\r\n",
	"*01\r\n$4\r\nPING\r\n", "*-1\r\nPING\r\n", "*0\r\n*1\r\n$4\r\nPING\r\n", "PING\r\n", "\r\n\r\nPING\n",
	"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\r\n*x\r\n", "*1\n$4\nPING\n", "*1\r\n$0\r\n\r\n",
	"QUIT a b\r\nPING\r\n", "*1048577\r\n", "PING\r\n*1\r\n$4\r\nPI", "*99999999999999999999\r\n",
}

func TestBrokenProtocolAsRedis(t *testing.T) {
	server := redistest.Start(t)
	for _, stream := range broken {
		c := server.Connect()
		want := c.Raw([]byte(stream))
		c.Close()

		r, _ := newNode(t)
		s := r.Connect("")
		got := string(s.Feed([]byte(stream)))
		if s.Closed() {
			got += redistest.ClosedMark
		}
		if got != want {
			t.Errorf("%q: node answers %q, redis-server %q", stream, got, want)
		}
	}
}

func FuzzParseCommands(f *testing.F) {
	for _, stream := range broken {
		f.Add([]byte(stream))
	}
	f.Add(redistest.AppendCommand(nil, "SET", "k", "v", "NX", "PX", "1000"))
	f.Add(redistest.AppendCommand(nil, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cmds, rest, err := ParseCommands(data)
		if !bytes.HasSuffix(data, rest) {
			t.Fatalf("rest %q is no end of %q", rest, data)
		}
		var again []byte
		for _, cmd := range cmds {
			if len(cmd) == 0 {
				t.Fatal("an empty command")
			}
			again = redistest.AppendCommand(again, cmd...)
		}
		cmds2, rest2, err2 := ParseCommands(again)
		if !reflect.DeepEqual(cmds2, cmds) || len(rest2) > 0 || err2 != nil {
			t.Fatalf("%q became %q, %q, %v", cmds, cmds2, rest2, err2)
		}
		// The commands are the same however the bytes are cut.
		if err == nil && len(data) > 0 {
			cut := len(data) / 2
			first, rest1, err1 := ParseCommands(data[:cut])
			if err1 != nil {
				t.Fatalf("half of %q: %v", data, err1)
			}
			second, rest2, err2 := ParseCommands(append(bytes.Clone(rest1), data[cut:]...))
			if err2 != nil || !bytes.Equal(rest2, rest) || !reflect.DeepEqual(append(first, second...), cmds) {
				t.Fatalf("%q cut at %d: %q and %q", data, cut, first, second)
			}
		}
	})
}

// TestCutPayload: a payload is split from the data after it once all of it has arrived.
func TestCutPayload(t *testing.T) {
	for data, want := range map[string][2]string{
		"$3\r\nabc": {"abc", ""}, "$3\r\nabcdef": {"abc", "def"}, "$0\r\nrest": {"", "rest"},
	} {
		if payload, rest, whole := CutPayload([]byte(data)); !whole || string(payload) != want[0] || string(rest) != want[1] {
			t.Errorf("%q: %q, %q, %v", data, payload, rest, whole)
		}
	}
	for _, data := range []string{"$-1\r\n", "", "x", "3\r\nabc", "53\r\nabc", "$", "$3", "$3\r", "$3\r\n", "$3\r\nab", "$x\r\nabc"} {
		if payload, rest, whole := CutPayload([]byte(data)); whole || payload != nil || string(rest) != data {
			t.Errorf("%q: %q, %q, %v", data, payload, rest, whole)
		}
	}
}
