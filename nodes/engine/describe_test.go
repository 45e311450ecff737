package engine

import (
	"strings"
	"testing"

	"lockstep/nodes/internal/redistest"
)

func TestDescribe(t *testing.T) {
	name := func(token string) string { return "<" + token[:2] + ">" }
	for _, test := range []struct{ got, want string }{
		{DescribeRequest(redistest.AppendCommand(nil, "replconf", "ACK", "123"), name), "REPLCONF ACK 123"},
		{DescribeRequest(redistest.AppendCommand(nil, "PSYNC", "?", "-1"), name), "PSYNC ? -1"},
		{DescribeRequest(redistest.AppendCommand(nil, "HSET", "a-key-that-is-long", "t1-0123456789abcdef", "1"), name), "HSET a-key-that-is-long <t1> 1"},
		{DescribeRequest(redistest.AppendCommand(redistest.AppendCommand(nil, "SET", "lock", "t1-0123456789abcdef", "PXAT", "1767323045700"), "DEL", "x"), name),
			"SET lock <t1> PXAT 1767323045700; DEL x"},
		{DescribeRequest(redistest.AppendCommand(nil, "PUBLISH", "a-channel-that-is-long", "t1-0123456789abcdef"), name), "PUBLISH a-channel-that-is-long <t1>"},
		{DescribeRequest(redistest.AppendCommand(nil, "PUBLISH", "__sentinel__:hello", "s1,1,10.0.0.1:6379,0"), name),
			"PUBLISH __sentinel__:hello s1,1,10.0.0.1:6379,0"},
		{DescribeReply([]byte("*3\r\n$6\r\nmaster\r\n:25\r\n*1\r\n*3\r\n$8\r\n10.0.0.2\r\n$4\r\n6379\r\n$2\r\n25\r\n"), name),
			"[master 25 [[10.0.0.2 6379 25]]]"},
		{DescribeReply([]byte("$48\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"), name), "# Replication role:master"},
		{DescribeReply([]byte("*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6379\r\n"), name), "[10.0.0.1 6379]"},
		{DescribeReply([]byte("-READONLY You can't write against a read only replica.\r\n"), name),
			"READONLY You can't write against a read only replica."},
		{DescribeReply([]byte("$19\r\nt1-0123456789abcdef\r\n"), name), "<t1>"},
		{DescribeReply([]byte("$-1\r\n*-1\r\n_\r\n"), name), "nil; nil; nil"},
		{DescribeReply([]byte("%1\r\n+a\r\n:1\r\n"), name), "[a 1]"},
		{DescribeReply([]byte("$x\r\nabc\r\n"), name), `"$x\r\nabc\r\n"`},
		{DescribeReply([]byte("$9\r\nabc\r\n"), name), `"$9\r\nabc\r\n"`},
		{DescribeReply([]byte("$2\r\na\r\n"), name), `"$2\r\na\r\n"`},
		{DescribeReply([]byte("*x\r\n:1\r\n"), name), `"*x\r\n:1\r\n"`},
		{DescribeReply([]byte("*2\r\n:1\r\n"), name), `"*2\r\n:1\r\n"`},
		{DescribeReply([]byte("\r\n"), name), `"\r\n"`},
		{DescribeReply([]byte("+OK\r\n:1"), name), `":1"`},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	most := strings.Repeat("x", mostShown)
	for _, test := range []struct{ text, want string }{
		{"", `""`},
		{"plain", "plain"},
		{"two words", `"two words"`},
		{`a"b`, `"a\"b"`},
		{"~", "~"},
		{"\x7f", `"\x7f"`},
		{most, most},
	} {
		if got := printable(test.text); got != test.want {
			t.Errorf("got %.50s, want %.50s", got, test.want)
		}
	}
	// Longer texts that begin alike are told apart by their digests.
	if a, b := printable(most+"a"), printable(most+"b"); a == b || len(a) > mostShown+50 {
		t.Errorf("%d and %d bytes are shown", len(a), len(b))
	}
}
