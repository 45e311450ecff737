package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

// Kinds of resources.
const (
	// Plain accepts every write.
	Plain = "plain"
	// FencedStore rejects a request with a fencing token lower than the highest that it has seen (Kleppmann, "How to do
	// distributed locking", 2016).
	FencedStore = "fenced"
	// CheckAndSet has a mark beside its value. A client that enters sets the mark to the random token of its lease. Writes under
	// any other lease are rejected, except blind ones (antirez, "Is Redlock safe?", 2016, http://antirez.com/news/101).
	CheckAndSet = "check-and-set"
	// Versioned stores each write as a separate version under the fencing token, or under the random token if the lock has no
	// other, like a program that puts the token into the name of a file: no client overwrites what another has written.
	Versioned = "versioned"
	// Counter is a Redis server with a number at the key [CounterKey]. It is not a [Resource].
	Counter = "counter"
)

// CounterKey is the key that a counter counts in.
const CounterKey = history.CounterKey

// Resources lists the kinds of resources.
func Resources() []string { return []string{Plain, FencedStore, CheckAndSet, Versioned, Counter} }

// A Request is a request of a client to the resource: one line of JSON.
type Request struct {
	Op    string `json:"op"` // read, write, update or enter
	Lock  string `json:"lock,omitempty"`
	Lease string `json:"lease,omitempty"` // the lease of the client; its name stands for the random token
	Fence int64  `json:"fence,omitempty"`
	Value string `json:"value,omitempty"` // the whole new value
	Word  string `json:"word,omitempty"`  // update: the word that is added
	Blind bool   `json:"blind,omitempty"` // write: regardless of the mark
}

// A Reply is the reply of the resource: one line of JSON.
type Reply struct {
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"` // why the request was rejected
}

// Resource is what a lock protects. It runs in a process of its own, on the other side of the network, so that a write can be
// late. All that it knows of the lock are the tokens in the requests.
type Resource struct {
	kind    string
	value   string // the newest
	highest int64  // the highest fencing token seen
	mark    string
}

// NewResource makes a resource of one of the kinds of [Resources] other than the counter.
func NewResource(kind string) (*Resource, error) {
	switch {
	case kind == Counter:
		return nil, errors.New("a counter is a Redis server, not a resource of this kind")
	case slices.Contains(Resources(), kind):
		return &Resource{kind: kind}, nil
	}
	return nil, history.Unknown("resource", kind, Resources())
}

// Apply carries out a request. It returns the reply and the resulting event, or nil for a read. The caller adds to the event when
// it happened, and for whom.
func (r *Resource) Apply(q Request) (Reply, *history.Event) {
	e := &history.Event{Kind: history.State, Lock: q.Lock, Lease: q.Lease, Fence: q.Fence, Value: q.Value, Word: q.Word}
	switch {
	case q.Op == history.Read:
		return Reply{Value: r.value}, nil
	case q.Op == history.Enter && r.kind == CheckAndSet:
		e.Op, r.mark = history.Mark, q.Lease
		return Reply{}, e
	case q.Op == history.Write, q.Op == history.Update:
	default:
		return Reply{Error: fmt.Sprintf("unknown request %q", q.Op)}, nil
	}
	if e.Error = r.objection(q); e.Error != "" {
		e.Op = history.Reject
		return Reply{Error: e.Error}, e
	}
	e.Op = r.store(q)
	return Reply{}, e
}

// objection says why a write is rejected; empty if it is accepted.
func (r *Resource) objection(q Request) string {
	switch {
	case r.kind == FencedStore && q.Fence < r.highest:
		return fmt.Sprintf("fence %d < %d", q.Fence, r.highest)
	case r.kind != CheckAndSet || q.Blind || q.Lease == r.mark:
		return ""
	case r.mark == "":
		return "there is no mark"
	}
	return "mark is " + r.mark
}

// store stores what was written. Only one version is ever read, so only that one is kept: the one with the highest fencing token,
// or, without fencing tokens, the last, because random tokens have no order.
func (r *Resource) store(q Request) (op string) {
	if r.kind != Versioned || q.Fence >= r.highest {
		r.highest = max(r.highest, q.Fence)
		r.value = q.Value
	}
	if r.kind == Versioned {
		return history.Keep
	}
	return history.Accept
}

// Answer is [Resource.Apply] for an encoded request and reply.
func (r *Resource) Answer(request []byte) (reply []byte, e *history.Event) {
	var q Request
	if err := json.Unmarshal(request, &q); err != nil {
		panic("clients: the resource got something that is not a request: " + err.Error()) // it comes from our own worker
	}
	answer, e := r.Apply(q)
	return encode(answer), e
}

// ResourceService is a resource in a simulated process.
type ResourceService struct {
	*Resource
	process *sim.Process
}

// ServeResource adds a process that runs r to the world.
func ServeResource(w *sim.World, name string, r *Resource) *sim.Process {
	s := &ResourceService{Resource: r}
	s.process = w.Serve(name, s)
	return s.process
}

// Open is called by the kernel.
func (s *ResourceService) Open(*sim.Conn) {}

// Closed is called by the kernel.
func (s *ResourceService) Closed(*sim.Conn) {}

// Receive is called by the kernel: it replies to each request, in the order of arrival.
func (s *ResourceService) Receive(c *sim.Conn, data []byte) {
	for line := range bytes.Lines(data) {
		reply, e := s.Answer(line)
		if e != nil {
			e.By, e.Sent = c.Remote(), c.Sent()
			s.process.Note(*e)
		}
		c.Write(reply)
	}
}

// Describe describes requests as "write A c1#1 fence 33" or "write A blind c1#1", and replies as "ok" or the reason for a
// rejection.
func (*Resource) Describe(data []byte, reply bool, _ func(string) string) string {
	if reply {
		var r Reply
		if json.Unmarshal(data, &r) != nil {
			return string(data)
		}
		if r.Error != "" {
			return "rejected: " + r.Error
		}
		if r.Value != "" {
			return r.Value
		}
		return "ok"
	}
	var q Request
	if json.Unmarshal(data, &q) != nil {
		return string(data)
	}
	text := q.Op
	if q.Value != "" {
		text += " " + q.Value
	}
	if q.Blind {
		text += " blind"
	}
	if q.Lease != "" {
		text += " " + q.Lease
	}
	if q.Fence != 0 {
		text += fmt.Sprintf(" fence %d", q.Fence)
	}
	return text
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return append(b, '\n')
}

// ErrRejected says that the resource refused a write.
var ErrRejected = errors.New("rejected by the resource")

// resourceTimeout is how long a client waits for the resource, by its steady clock. It is longer than any delay that a scenario
// injects, because a client that gave up would hide a write that lands late.
const resourceTimeout = 10 * time.Minute

// ResourceConn is a client's connection to the resource. It is opened when first needed, and again after an error.
type ResourceConn struct {
	dial Dialer
	addr string

	conn net.Conn
	dec  *json.Decoder
}

// Do sends a request and waits for the reply. It returns [ErrRejected] for a write that the resource refused; after any other
// error the write may still land.
func (r *ResourceConn) Do(ctx context.Context, q Request) (string, error) {
	if r.conn == nil {
		conn, err := r.dial(ctx, "tcp", r.addr)
		if err != nil {
			return "", err
		}
		r.conn, r.dec = conn, json.NewDecoder(conn)
	}
	var reply Reply
	err := r.conn.SetReadDeadline(time.Now().Add(resourceTimeout))
	if err == nil {
		_, err = r.conn.Write(encode(q))
	}
	if err == nil {
		err = r.dec.Decode(&reply)
	}
	if err != nil {
		r.Close()
		return "", err
	}
	if reply.Error != "" {
		return "", fmt.Errorf("%w: %s", ErrRejected, reply.Error)
	}
	return reply.Value, nil
}

// Close closes the connection, if one is open.
func (r *ResourceConn) Close() {
	if r.conn != nil {
		r.conn.Close()
		r.conn = nil
	}
}
