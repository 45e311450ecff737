package history

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Leases names the leases that clients ask for: c1#2 is the second that c1 asked for. The only mark of a lease in messages is a
// random token. A token must not appear in a history, where it would differ from seed to seed and mean nothing. So a token gets
// its name from the client that is the first to send it.
//
// A value may also contain a token, such as JSON with the owner and a counter. A lock may mark its keys differently: with a token that it
// reuses, or without any. Then the operation in which a key is set determines the lease that it stands for.
//
// It is not safe for concurrent use.
type Leases struct {
	tokens map[string]*claim
	sent   map[string][]string  // the tokens of a client, in the order in which it sent them
	last   map[string]*claim    // by client: the lease whose token it has sent last
	latest map[operation]*claim // the last lease that an operation asked for
	taken  map[operation]taking // the key of the lock that an acquire has set, and for which lease
	locks  map[operation]string // the name of the lock that an acquire asks for
	count  map[string]int       // by client
	again  map[string]bool      // the tokens that their client has sent in several acquires
}

// operation is an acquire of a client, by its number.
type operation struct {
	client string
	id     int
}

type claim struct {
	operation
	lease string
	n     int // the lease is the n-th of its client
	marks int // how many tokens stand for it
}

type taking struct {
	key string
	by  *claim
}

// NewLeases returns a Leases in which nobody has asked for anything.
func NewLeases() *Leases {
	return &Leases{tokens: map[string]*claim{}, sent: map[string][]string{}, last: map[string]*claim{}, latest: map[operation]*claim{}, taken: map[operation]taking{}, locks: map[operation]string{}, count: map[string]int{}, again: map[string]bool{}}
}

// Acquire notes that a client begins its acquire number id, of the lock with a name.
func (l *Leases) Acquire(client string, id int, lock string) {
	if lock != "" {
		l.locks[operation{client, id}] = lock
	}
}

// Known returns the lease that a token stands for, or "" if no client has sent it.
func (l *Leases) Known(token string) string {
	if a := l.tokens[token]; a != nil {
		return a.lease
	}
	return ""
}

// Name replaces each token in a text by its lease, as in an error that says who has the lock. A token is found if it is a word of letters,
// digits and the signs of base64 and of UUIDs.
func (l *Leases) Name(text string) string {
	if len(text) < TokenLength {
		return text
	}
	inWord := func(c byte) bool {
		return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("+/=-_", c) >= 0
	}
	var b strings.Builder
	for len(text) > 0 {
		n := 0
		for n < len(text) && inWord(text[n]) {
			n++
		}
		word := text[:n]
		if n >= TokenLength {
			if lease := l.Known(word); lease != "" {
				word = lease
			}
		}
		b.WriteString(word)
		text = text[n:]
		for n = 0; n < len(text) && !inWord(text[n]); n++ {
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// Send names a token that a client sends during its acquire number id (0 outside of one). A token that contains another one of this
// acquire, or is contained in it, stands for the same lease. Outside of an acquire this holds for the tokens of all acquires. A client
// that announces its acquires asks for a lease only in these. So a new token in an extension or a release, such as one that replaces the old
// token, stands for the lease whose token the client has sent last.
func (l *Leases) Send(client string, id int, token string) string {
	a := l.tokens[token]
	if a == nil {
		op := operation{client, id}
		a = l.akin(client, func(b *claim, other string) bool {
			return (b.operation == op || id == 0) && (strings.Contains(token, other) || strings.Contains(other, token))
		})
		if last := l.last[client]; a == nil && id == 0 && last != nil && last.id != 0 {
			a = last
		}
		if a == nil {
			a = l.ask(op)
		}
		l.tokens[token] = a
		a.marks++
		l.sent[client] = append(l.sent[client], token)
	}
	if a.client == client {
		l.again[token] = l.again[token] || id != 0 && id != a.id
		l.last[client] = a
	}
	return a.lease
}

// TokenLength is how long a value must be to count as a token. Random tokens have at least 16 bytes; counters, timestamps and the
// values of small programs are shorter.
const TokenLength = 16

// mostAkin is how many tokens of a client are looked at for one that contains another.
const mostAkin = 64

// akin returns the claim of the token that matches, among the last that a client has sent. If tokens of several leases match, it
// returns nil: then the value is not the mark of one of them.
func (l *Leases) akin(client string, matches func(b *claim, token string) bool) (found *claim) {
	sent := l.sent[client]
	for _, token := range sent[max(0, len(sent)-mostAkin):] {
		b := l.tokens[token]
		if len(token) < TokenLength || !matches(b, token) {
			continue
		}
		if found != nil && found != b {
			return nil
		}
		found = b
	}
	return found
}

// contained returns the claim of the token that a client has sent last, of those that a value contains.
func (l *Leases) contained(client, value string) *claim {
	sent := l.sent[client]
	for _, token := range slices.Backward(sent[max(0, len(sent)-mostAkin):]) {
		if len(token) >= TokenLength && strings.Contains(value, token) {
			return l.tokens[token]
		}
	}
	return nil
}

// Taking says whether a request that sets a key takes a lock, even if the value contains no token.
type Taking int

const (
	TakesNothing Taking = iota
	// OnlyRemoves is what a request does that only removes something from a hash, a list or a set: what is left stands for the lease for which it
	// was sent.
	OnlyRemoves
	// TakesInAcquire is what a script or a transaction may do that makes a key with an expiry: it takes a lock if it was sent during an acquire.
	TakesInAcquire
	// TakesNumbered is the same with a number for a value. That may also be a counter, so the key must have the name of the lock, too.
	TakesNumbered
	// TakesNamed is the same for a key without an expiry, a list or a set, which may also be something else: its name must be exactly that of the
	// lock.
	TakesNamed
	// TakesAlways is what SET with NX does, and GETSET of a key that stood for a lease.
	TakesAlways
)

// Set returns the lease that a key stands for after a request, sent by a client during its acquire number id, has set it to
// values, and the value that says so. That is the lease of the token that is one of the values or is contained in one, unless the
// request uses the token of an earlier acquire again. If a value contains several, for example a process ID and a lease ID, the one that
// the client sent last counts. Values without a token stand for a lease if the request takes a lock; otherwise the lease is "".
//
// A string has one value. Of the values of a hash or a list, the token with which the client asked last comes first, then another
// of its own, then any. What the client sends in several acquires, beside a token for each, is its own name, and stands for no lease there.
func (l *Leases) Set(client string, id int, takes Taking, key string, values ...string) (lease, value string) {
	op := operation{client, id}
	var a *claim
	ofClient := func(v string) bool { return len(values) > 1 && l.again[v] && l.tokens[v].marks > 1 }
	for _, v := range values {
		b := l.tokens[v]
		if b != nil && !ofClient(v) && (a == nil || b == l.latest[op] || b.client == client && a.client != client) {
			a, value = b, v
		}
	}
	for _, v := range values {
		if a == nil && len(v) > TokenLength && !ofClient(v) {
			if a = l.contained(client, v); a != nil {
				value, l.tokens[v] = v, a // a replica, which does not know who has sent it, knows it, too
			}
		}
	}
	switch {
	case a != nil && (a.operation == op || a.client != client || id == 0 || takes == OnlyRemoves):
		if a.operation == op && (takes > OnlyRemoves || key == l.locks[op]) {
			l.take(op, key, a)
		}
		return a.lease, value
	case a != nil || takes == TakesAlways || takes == TakesInAcquire && id != 0,
		takes == TakesNumbered && named(key, l.locks[op]),
		takes == TakesNamed && l.locks[op] != "" && key == l.locks[op]:
		mine := l.asked(op)
		if takes > OnlyRemoves {
			l.take(op, key, mine)
		}
		if a == nil && len(values) == 1 && len(values[0]) >= TokenLength {
			l.tokens[values[0]] = mine // a script has drawn it
		}
		return mine.lease, value
	}
	return "", ""
}

// take notes that an acquire has set a key of the lock for a lease. If it sets keys of several names, the one with just the name of the lock
// counts, or else the first; if it sets one several times, the lease that it asked for last counts.
func (l *Leases) take(op operation, key string, a *claim) {
	lock, was := l.locks[op], l.taken[op]
	if !named(key, lock) || was.by != nil && (key == was.key && a.n < was.by.n || key != was.key && key != lock) {
		return
	}
	l.taken[op] = taking{key, a}
}

// named reports whether a key is that of a lock: it is the name of the lock, perhaps in braces and after a prefix. A letter or a digit
// right before the name makes another word: clock is not a key of the lock "lock".
func named(key, lock string) bool {
	prefix, ok := strings.CutSuffix(strings.TrimRight(key, "}"), lock)
	last, _ := utf8.DecodeLastRuneInString(prefix)
	return lock != "" && ok && !unicode.IsLetter(last) && !unicode.IsDigit(last)
}

// Asked returns the lease that a client asked for during its acquire number id: the one for which it has set the key of the lock, or else the
// last. What it sends beside the token, such as a description of the owner for a log, asks for nothing. If the client has sent no token of its own,
// the lease is named now.
func (l *Leases) Asked(client string, id int) string { return l.asked(operation{client, id}).lease }

func (l *Leases) asked(op operation) *claim {
	if a := l.taken[op].by; a != nil {
		return a
	}
	if l.latest[op] == nil {
		l.ask(op)
	}
	return l.latest[op]
}

func (l *Leases) ask(op operation) *claim {
	l.count[op.client]++
	n := l.count[op.client]
	a := &claim{operation: op, lease: fmt.Sprintf("%s#%d", op.client, n), n: n}
	l.latest[op] = a
	return a
}

// Client returns the client of a lease, or of a process: c1 for c1#2.
func Client(lease string) string {
	client, _, _ := strings.Cut(lease, "#")
	return client
}
