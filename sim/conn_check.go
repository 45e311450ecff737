package sim

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// SyscallConn is for client libraries that check whether an idle connection is still alive before they reuse it, as go-redis does
// with a peek at the socket. There is no socket here: see [rawConn.Read].
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.err == net.ErrClosed {
		return nil, c.opError("raw-control", c.err)
	}
	return rawConn{c}, nil
}

// rawConn replaces the file descriptor of a connection.
type rawConn struct{ c *Conn }

// Results of a check. Libraries only look whether there is an error.
var (
	errUnread       = errors.New("sim: bytes are waiting to be read")
	errNoDescriptor = errors.New("sim: a simulated connection has no file descriptor")
)

// Read does not call peek, which would need a file descriptor. Instead it returns what peek is meant to find out: io.EOF if the
// other end has hung up, the error if the connection has failed, another error if bytes are waiting to be read, and nil if the
// connection is idle and alive as far as its end can know.
func (r rawConn) Read(peek func(fd uintptr) (done bool)) error {
	c := r.c
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	return r.Control(nil)
}

// Control returns what Read returns, and leaves the deadlines of the connection as they are.
func (r rawConn) Control(func(fd uintptr)) error {
	c := r.c
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
