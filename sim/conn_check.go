package sim

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// SyscallConn is for client libraries that look whether an idle connection is still alive before they use it again, as
// go-redis does with a peek at the socket. There is no socket here: see [rawConn.Read].
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.err == net.ErrClosed {
		return nil, c.opError("raw-control", c.err)
	}
	return rawConn{c}, nil
}

// rawConn is a connection as a library sees it that wants its file descriptor.
type rawConn struct{ c *Conn }

// Errors of a look at a connection. Libraries ask only whether there is one.
var (
	errUnread       = errors.New("sim: bytes are waiting to be read")
	errNoDescriptor = errors.New("sim: a simulated connection has no file descriptor")
)

// Read does not call peek, which would want a file descriptor. Instead it answers what every peek is for: it returns
// io.EOF if the other end has hung up, why the connection has failed if it has, another error if bytes wait to be read,
// and nil if the connection is idle and alive as far as its end can know.
func (r rawConn) Read(peek func(fd uintptr) (done bool)) error {
	c := r.c
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch {
	case c.eof:
		return io.EOF
	case c.err != nil:
		return c.opError("raw-read", c.err)
	case len(c.in) > 0:
		return errUnread
	}
	return nil
}

func (r rawConn) Write(func(fd uintptr) (done bool)) error { return errNoDescriptor }
func (r rawConn) Control(func(fd uintptr)) error           { return errNoDescriptor }
