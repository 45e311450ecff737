package engine

import (
	"bytes"
	"errors"
	"strconv"
)

// ReadReply reads the first reply in data, and returns its size in bytes: 0 if it is incomplete. Statuses and bulk strings are
// strings, numbers int64, errors errors, arrays []any.
func ReadReply(data []byte) (value any, size int) {
	head, rest, ok := bytes.Cut(data, []byte("\r\n"))
	if !ok || len(head) == 0 {
		return nil, 0
	}
	size = len(head) + len("\r\n")
	text := string(head[1:])
	n, _ := strconv.ParseInt(text, 10, 64)
	switch head[0] {
	case '-':
		return errors.New(text), size
	case ':':
		return n, size
	case '$':
		if n < 0 {
			return nil, size
		}
		if int64(len(rest)) < n+2 {
			return nil, 0
		}
		return string(rest[:n]), size + int(n) + 2
	case '*':
		list := make([]any, 0, max(n, 0))
		for range n {
			v, used := ReadReply(data[size:])
			if used == 0 {
				return nil, 0
			}
			list = append(list, v)
			size += used
		}
		return list, size
	}
	return text, size
}
