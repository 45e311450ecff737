package history

import (
	"fmt"
	"strings"
)

// Leases names the leases that clients ask for: c1#2 is the second that c1 asked for. The only mark of a lease in messages is a
// random token. A token must not appear in a history, where it would differ from seed to seed and mean nothing. So a token gets
// its name from the client that is the first to send it.
//
// A lock may mark its keys differently: with a token that it reuses, or without any. Then the operation in which a key is set
// determines the lease that it stands for.
//
// It is not safe for concurrent use.
type Leases struct {
	tokens map[string]*claim
	latest map[operation]*claim // the last lease that an operation asked for
	count  map[string]int       // by client
}

// operation is an acquire of a client, by its number.
type operation struct {
	client string
	id     int
}

type claim struct {
	operation
	lease string
}

// NewLeases returns a Leases in which nobody has asked for anything.
func NewLeases() *Leases {
	return &Leases{tokens: map[string]*claim{}, latest: map[operation]*claim{}, count: map[string]int{}}
}

// Known returns the lease that a token stands for, or "" if no client has sent it.
func (l *Leases) Known(token string) string {
	if a := l.tokens[token]; a != nil {
		return a.lease
	}
	return ""
}

// Send names a token that a client sends during its acquire number id (0 outside of one).
func (l *Leases) Send(client string, id int, token string) string {
	a := l.tokens[token]
	if a == nil {
		a = l.ask(operation{client, id})
		l.tokens[token] = a
	}
	return a.lease
}

// Set returns the lease that a key stands for after a request, sent by a client during its acquire number id, has set it to
// values, and the value that says so. That is the lease of the token, unless the token is left from an earlier acquire. Values
// without a token stand for a lease if the request takes a lock, which is SET with NX, or GETSET of a key that stood for a lease;
// otherwise the lease is "".
//
// A string has one value. Of the values of a hash or a list, the token with which the client asked last comes first, then another
// of its own, then any.
func (l *Leases) Set(client string, id int, takes bool, values ...string) (lease, value string) {
	op := operation{client, id}
	var a *claim
	for _, v := range values {
		b := l.tokens[v]
		if b != nil && (a == nil || b == l.latest[op] || b.client == client && a.client != client) {
			a, value = b, v
			if b == l.latest[op] {
				break
			}
		}
	}
	switch {
	case a != nil && (a.operation == op || a.client != client || id == 0):
		return a.lease, value
	case a != nil || takes:
		return l.Asked(client, id), value
	}
	return "", ""
}

// Asked returns the lease that a client asked for last during its acquire number id. If the client has sent no token of its own,
// the lease is named now.
func (l *Leases) Asked(client string, id int) string {
	op := operation{client, id}
	if l.latest[op] == nil {
		l.ask(op)
	}
	return l.latest[op].lease
}

func (l *Leases) ask(op operation) *claim {
	l.count[op.client]++
	a := &claim{op, fmt.Sprintf("%s#%d", op.client, l.count[op.client])}
	l.latest[op] = a
	return a
}

// Client returns the client of a lease, or of a process: c1 for c1#2.
func Client(lease string) string {
	client, _, _ := strings.Cut(lease, "#")
	return client
}
