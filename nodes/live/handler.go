package live

import (
	"bytes"
	"errors"
	"io"

	"lockstep/sim/history"
)

// Handler is a server that answers each line with a line, such as the resource that a lock protects.
type Handler interface {
	// Answer carries out a request. It returns the reply and the event that it caused, or nil if nothing changed.
	Answer(request []byte) (reply []byte, e *history.Event)
	// Describe describes a request or a reply for timelines; name names the tokens in it.
	Describe(data []byte, reply bool, name func(token string) string) string
}

// Handle adds to the cluster a server that runs in this process, behind a proxy.
func (c *Cluster) Handle(name string, h Handler) { c.serve(name, &handler{h, c, name}) }

type handler struct {
	Handler
	c    *Cluster
	name string
}

func (h *handler) connect() (io.ReadWriteCloser, error) { return nowhere{}, nil }

// nowhere is the connection to a server that runs in this process.
type nowhere struct{ io.ReadWriter }

func (nowhere) Close() error { return nil }

// longestLine is the limit for the length of a request.
const longestLine = 1 << 20

func (h *handler) split(data []byte) (m *message, size int, err error) {
	size = bytes.IndexByte(data, '\n') + 1
	if size == 0 && len(data) > longestLine {
		return nil, 0, errors.New("the request is too long")
	}
	return &message{}, size, nil
}

func (h *handler) describe(m *message, reply bool, name func(string) string) string {
	return h.Describe(m.data, reply, name)
}

func (h *handler) serve(r *relay, m *message) ([]byte, error) {
	reply, e := h.Answer(m.data)
	if e != nil {
		e.By, e.Sent = r.client.name, m.sent
		h.c.mu.Lock()
		h.c.note(h.name, *e)
		h.c.mu.Unlock()
	}
	return reply, nil
}

func (h *handler) stop() {}
