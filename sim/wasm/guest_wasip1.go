package wasm

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

//go:wasmimport lockstep dial
//go:noescape
func hostDial(addr unsafe.Pointer, n int32) int32

//go:wasmimport lockstep connected
func hostConnected(fd int32) int32

//go:wasmimport lockstep idle
func hostIdle(fd int32) int32

//go:wasmimport lockstep ask
//go:noescape
func hostAsk(question unsafe.Pointer, n int32) int32

//go:wasmimport lockstep answer
//go:noescape
func hostAnswer(buf unsafe.Pointer)

// lockstepRestart is set by runtime.go.txt.
//
//go:linkname lockstepRestart runtime.lockstepRestart
var lockstepRestart func(seed [4]uint64)

// Restart restarts the random streams of the Go runtime with a seed. What they give before that depends on the whole program, because each map
// that a package makes when it is initialized draws from them.
func Restart(seed [4]uint64) {
	runtime.MemProfileRate = 0 // the sampling of allocations draws from them, too, the more memory is used
	lockstepRestart(seed)
}

// Ask asks the host a question. While the host answers, no code of this process runs.
func Ask(question []byte) (answer []byte) {
	n := hostAsk(unsafe.Pointer(unsafe.SliceData(question)), int32(len(question)))
	if n == 0 {
		return nil
	}
	answer = make([]byte, n)
	hostAnswer(unsafe.Pointer(unsafe.SliceData(answer)))
	return answer
}

// Dial connects to the process of the world that has the address.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	a := []byte(addr)
	fd := hostDial(unsafe.Pointer(unsafe.SliceData(a)), int32(len(a)))
	if fd < 0 {
		return fail(syscall.Errno(-fd))
	}
	c, err := open(fd)
	if err != nil {
		return fail(err)
	}
	c.remote = address(addr)
	if deadline, ok := ctx.Deadline(); ok {
		c.SetWriteDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { c.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := c.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return fail(err)
	}
	var errno syscall.Errno
	err = raw.Write(func(uintptr) bool {
		errno = syscall.Errno(hostConnected(fd))
		return errno != syscall.EAGAIN
	})
	switch {
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case err == nil && errno != 0:
		err = errno
	}
	if err != nil {
		c.Close()
		return fail(err)
	}
	c.SetWriteDeadline(time.Time{})
	return c, nil
}

// open makes a connection from a descriptor.
func open(fd int32) (*conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close() // the connection keeps the descriptor
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, fd: fd}, nil
}

// Await waits until a descriptor that the host has made becomes readable.
func Await(fd int32) {
	c, err := open(fd)
	if err != nil {
		panic("wasm: " + err.Error())
	}
	defer c.Close()
	io.ReadFull(c, make([]byte, 1))
}

// conn is a connection to another process of the world.
type conn struct {
	net.Conn
	fd     int32
	remote net.Addr
}

// RemoteAddr returns the address that was dialled.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SyscallConn is for client libraries that check whether an idle connection is still alive before they use it again.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c}, nil }

type rawConn struct{ c *conn }

// Read does not call peek, but returns an error if peek would find that the connection cannot be used again.
func (r rawConn) Read(peek func(fd uintptr) (done bool)) error {
	if hostIdle(r.c.fd) == 0 {
		return io.EOF
	}
	return nil
}

func (r rawConn) Write(func(fd uintptr) (done bool)) error { return syscall.ENOSYS }
func (r rawConn) Control(func(fd uintptr)) error           { return r.Read(nil) }

// address is an IP address with a port, as text.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }
