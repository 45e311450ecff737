package clients

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

type checked struct{ net.Conn }

var errChecked = errors.New("checked")

func (checked) SyscallConn() (syscall.RawConn, error) { return nil, errChecked }

// Whether the connection of a warm client is alive is what the connection beneath it says. Otherwise a client would send its request on a
// connection that a crash has closed, and not on a new one.
func TestWarmConnectionIsChecked(t *testing.T) {
	plain, other := net.Pipe()
	defer other.Close()
	defer plain.Close()
	for _, c := range []struct {
		conn net.Conn
		want error
	}{{checked{plain}, errChecked}, {plain, errors.ErrUnsupported}} {
		if _, err := (&line{Conn: c.conn}).SyscallConn(); err != c.want {
			t.Errorf("%T: %v, want %v", c.conn, err, c.want)
		}
	}
}
