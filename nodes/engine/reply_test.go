package engine

import (
	"errors"
	"reflect"
	"testing"
)

func TestReadReply(t *testing.T) {
	for text, want := range map[string]any{
		"+OK\r\n":                                "OK",
		"-ERR no\r\n":                            errors.New("ERR no"),
		":-7\r\n":                                int64(-7),
		"$-1\r\n":                                nil,
		"$0\r\n\r\n":                             "",
		"$4\r\na\r\nb\r\n":                       "a\r\nb",
		"*0\r\n":                                 []any{},
		"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n":   []any{int64(1), []any{"x"}, nil},
		"*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6379\r\n": []any{"10.0.0.1", "6379"},
	} {
		for cut := range len(text) {
			if got, n := ReadReply([]byte(text[:cut])); n != 0 {
				t.Errorf("%q: %v of %d bytes", text[:cut], got, n)
			}
		}
		if got, n := ReadReply([]byte(text + "+next\r\n")); n != len(text) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v of %d bytes", text, got, n)
		}
	}
}
