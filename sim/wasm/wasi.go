//go:build !wasm

package wasm

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero/api"

	"lockstep/sim"
)

// Numbers of WASI preview 1.
const (
	errnoSuccess     = 0
	errnoAgain       = 6
	errnoBadf        = 8
	errnoConnRefused = 14
	errnoConnReset   = 15
	errnoFault       = 21
	errnoUnreachable = 23
	errnoInval       = 28
	errnoIO          = 29
	errnoNotSup      = 58
	errnoPipe        = 64

	clockRealtime = 0

	eventClock   = 0
	eventFDRead  = 1
	eventFDWrite = 2

	absoluteTime    = 1 // flag of a clock subscription
	characterDevice = 2
	socketStream    = 6
	flagNonblock    = 4
	allRights       = math.MaxUint64 >> 34
	rightSeek       = 1 << 2
	rightTell       = 1 << 5
	subscription    = 48 // bytes
	event           = 32
	stdout, stderr  = 1, 2
)

// firstFD is the first descriptor of a connection. Lower ones are files, of which a guest has only the standard ones.
const firstFD = 1000

// MonotonicBase is what the monotonic clock of a guest shows at the start of the run. Go requires that it is not 0.
const MonotonicBase = time.Hour

// mostOutput says how much of a guest's output is kept: at least this many of its last bytes, and at most twice as many.
const mostOutput = 64 << 10

// A descriptor is a connection or an instant, at which it becomes readable.
type descriptor struct {
	conn   Conn
	done   *bool // for an instant: it has passed
	blocks bool  // reading and writing wait
}

// Instant returns a new descriptor, which is readable from true time t on.
func (in *Instance) Instant(t time.Duration) int32 {
	done := new(bool)
	go func() {
		in.Process.Until(t)
		*done = true
		in.guest.Wake()
	}()
	return in.open(descriptor{done: done})
}

// Never returns a new descriptor, which never becomes readable.
func (in *Instance) Never() int32 { return in.open(descriptor{done: new(bool)}) }

func (in *Instance) open(d descriptor) int32 {
	fd := in.next
	in.next++
	in.fds[fd] = d
	return fd
}

func (d descriptor) readable() bool {
	if d.conn != nil {
		return d.conn.Readable()
	}
	return *d.done
}

func (d descriptor) writable() bool { return d.conn == nil || d.conn.Connected() != sim.ErrWouldBlock }

const i32, i64 = api.ValueTypeI32, api.ValueTypeI64

// functions are the functions of WASI that differ from wazero's, and those of the module "lockstep".
var functions = []function{
	{name: "clock_time_get", params: []api.ValueType{i32, i64, i32}, results: []api.ValueType{i32}, do: clockTimeGet},
	{name: "poll_oneoff", params: []api.ValueType{i32, i32, i32, i32}, results: []api.ValueType{i32}, do: pollOneoff},
	{name: "random_get", params: []api.ValueType{i32, i32}, results: []api.ValueType{i32}, do: randomGet},
	{name: "fd_read", params: []api.ValueType{i32, i32, i32, i32}, results: []api.ValueType{i32}, do: fdRead},
	{name: "fd_write", params: []api.ValueType{i32, i32, i32, i32}, results: []api.ValueType{i32}, do: fdWrite},
	{name: "fd_close", params: []api.ValueType{i32}, results: []api.ValueType{i32}, do: fdClose},
	{name: "fd_fdstat_get", params: []api.ValueType{i32, i32}, results: []api.ValueType{i32}, do: fdStat},
	{name: "fd_fdstat_set_flags", params: []api.ValueType{i32, i32}, results: []api.ValueType{i32}, do: fdSetFlags},
	{name: "sock_shutdown", params: []api.ValueType{i32, i32}, results: []api.ValueType{i32}, do: known},
	{name: "sched_yield", results: []api.ValueType{i32}, do: func(*Instance, api.Memory, []uint64) uint32 { return errnoSuccess }},

	{ours: true, name: "dial", params: []api.ValueType{i32, i32}, results: []api.ValueType{i32}, do: dial},
	{ours: true, name: "connected", params: []api.ValueType{i32}, results: []api.ValueType{i32}, do: connected},
	{ours: true, name: "idle", params: []api.ValueType{i32}, results: []api.ValueType{i32}, do: idle},
	{ours: true, name: "ask", params: []api.ValueType{i32, i32}, results: []api.ValueType{i32}, do: ask},
	{ours: true, name: "answer", params: []api.ValueType{i32}, do: answer},
}

func clockTimeGet(in *Instance, m api.Memory, a []uint64) uint32 {
	t := uint64(MonotonicBase + in.machine.Steady())
	if uint32(a[0]) == clockRealtime {
		t = uint64(in.machine.Wall().UnixNano())
	}
	if !m.WriteUint64Le(uint32(a[2]), t) {
		return errnoFault
	}
	return errnoSuccess
}

func randomGet(in *Instance, m api.Memory, a []uint64) uint32 {
	buf, ok := m.Read(uint32(a[0]), uint32(a[1]))
	if !ok {
		return errnoFault
	}
	for i := range buf {
		buf[i] = byte(in.Random.Uint32())
	}
	return errnoSuccess
}

// pollOneoff waits until one of the events to which the guest subscribes occurs. A Go program calls it when all its goroutines
// wait, with the time at which the next timer fires, and all connections for which goroutines wait. If the timeout is 0, it does
// not wait.
func pollOneoff(in *Instance, m api.Memory, a []uint64) uint32 {
	in.live()
	n := uint32(a[2])
	if n == 0 || n > 1<<16 {
		return errnoInval
	}
	subs, ok := m.Read(uint32(a[0]), n*subscription)
	if !ok {
		return errnoFault
	}
	due, looks := time.Duration(-1), false
	for s := subs; len(s) > 0; s = s[subscription:] {
		if s[8] != eventClock {
			continue
		}
		d := clip(binary.LittleEndian.Uint64(s[24:]))
		if binary.LittleEndian.Uint16(s[40:])&absoluteTime != 0 {
			if binary.LittleEndian.Uint32(s[16:]) == clockRealtime {
				return errnoNotSup // Go never asks for it, and wasi-libc does so only to sleep by CLOCK_REALTIME
			}
			d -= MonotonicBase + in.machine.Steady()
		}
		looks = looks || d <= 0
		if at := in.machine.Steady() + max(d, 0); due < 0 || at < due {
			due = at
		}
	}
	for {
		events := in.events(subs, due)
		if len(events) > 0 {
			if !m.Write(uint32(a[1]), events) || !m.WriteUint32Le(uint32(a[3]), uint32(len(events)/event)) {
				return errnoFault
			}
			if !looks {
				in.looks = 0
			}
			return errnoSuccess
		}
		in.machine.Wait(due)
		in.live()
	}
}

// clip turns a number of nanoseconds into a duration that can be added to a time.
func clip(ns uint64) time.Duration { return time.Duration(min(ns, uint64(100*365*24*time.Hour))) }

// events returns the subscribed events that have occurred, in the form in which the guest reads them.
func (in *Instance) events(subs []byte, due time.Duration) (events []byte) {
	passed := due >= 0 && in.machine.Steady() >= due
	for s := subs; len(s) > 0; s = s[subscription:] {
		kind, errno := s[8], uint16(errnoSuccess)
		occurred := passed
		if kind != eventClock {
			d, ok := in.fds[int32(binary.LittleEndian.Uint32(s[16:]))]
			switch {
			case !ok:
				occurred, errno = true, errnoBadf
			case kind == eventFDRead:
				occurred = d.readable()
			default:
				occurred = d.writable()
			}
		}
		if occurred {
			e := make([]byte, event)
			copy(e, s[:8])
			binary.LittleEndian.PutUint16(e[8:], errno)
			e[10] = kind
			events = append(events, e...)
		}
	}
	return events
}

// vectors calls f with one buffer of a list after another, until f uses less than a whole buffer.
func vectors(m api.Memory, at, n uint32, f func(b []byte) (int, error)) (total uint32, err error) {
	for i := range n {
		ptr, ok := m.ReadUint32Le(at + 8*i)
		size, ok2 := m.ReadUint32Le(at + 8*i + 4)
		if !ok || !ok2 {
			return total, errFault
		}
		b, ok := m.Read(ptr, size)
		if !ok {
			return total, errFault
		}
		k, err := f(b)
		total += uint32(k)
		if err != nil || k < len(b) {
			if total > 0 {
				err = nil
			}
			return total, err
		}
	}
	return total, nil
}

var errFault = errors.New("an address outside of the memory of the guest")

func fdRead(in *Instance, m api.Memory, a []uint64) uint32 {
	in.live()
	d, ok := in.fds[int32(a[0])]
	if !ok {
		return errnoBadf
	}
	n, err := vectors(m, uint32(a[1]), uint32(a[2]), func(b []byte) (int, error) {
		if d.conn != nil {
			return in.read(d, b)
		}
		if !*d.done {
			return 0, sim.ErrWouldBlock
		}
		return copy(b, "!"), nil
	})
	if err != nil && err != io.EOF {
		return errnoOf(err)
	}
	if !m.WriteUint32Le(uint32(a[3]), n) {
		return errnoFault
	}
	return errnoSuccess
}

func fdWrite(in *Instance, m api.Memory, a []uint64) uint32 {
	in.live()
	fd := int32(a[0])
	d, ok := in.fds[fd]
	n, err := vectors(m, uint32(a[1]), uint32(a[2]), func(b []byte) (int, error) {
		switch {
		case ok && d.conn != nil:
			return in.write(d, b)
		case fd == stdout || fd == stderr:
			in.print(b)
			return len(b), nil
		}
		return 0, errBadf
	})
	if err != nil {
		return errnoOf(err)
	}
	if !m.WriteUint32Le(uint32(a[3]), n) {
		return errnoFault
	}
	return errnoSuccess
}

// read reads from a connection.
func (in *Instance) read(d descriptor, b []byte) (int, error) {
	for {
		n, err := d.conn.TryRead(b)
		if err != sim.ErrWouldBlock || !d.blocks {
			return n, err
		}
		if d.conn == in.In && in.Starved != nil {
			if err := in.Starved(); err != nil {
				in.fail(err)
			}
		}
		in.wait(-1)
	}
}

// write writes to a connection, which may not be open yet.
func (in *Instance) write(d descriptor, b []byte) (int, error) {
	for d.blocks {
		switch err := d.conn.Connected(); err {
		case nil:
			return d.conn.Write(b)
		case sim.ErrWouldBlock:
			in.wait(-1)
		default:
			return 0, err
		}
	}
	return d.conn.Write(b)
}

// wait is [Machine.Wait]. It ends the instance if its process dies meanwhile.
func (in *Instance) wait(due time.Duration) {
	in.machine.Wait(due)
	in.live()
	in.looks = 0
}

// print keeps the end of what the guest prints.
func (in *Instance) print(b []byte) {
	in.output = append(in.output, b[max(0, len(b)-mostOutput):]...)
	if over := len(in.output) - mostOutput; over > mostOutput {
		in.output = append(in.output[:0], in.output[over:]...)
	}
}

var errBadf = errors.New("no such descriptor")

func fdClose(in *Instance, _ api.Memory, a []uint64) uint32 {
	fd := int32(a[0])
	d, ok := in.fds[fd]
	if !ok {
		return errnoBadf
	}
	delete(in.fds, fd)
	if d.conn != nil {
		d.conn.Close()
	}
	return errnoSuccess
}

func fdStat(in *Instance, m api.Memory, a []uint64) uint32 {
	fd := int32(a[0])
	b, ok := m.Read(uint32(a[1]), 24)
	if !ok {
		return errnoFault
	}
	clear(b)
	d, ok := in.fds[fd]
	rights := uint64(allRights)
	switch {
	case fd >= 0 && fd <= stderr:
		b[0], rights = characterDevice, rights&^(rightSeek|rightTell) // a terminal, so that the C library sends each line when it ends
	case !ok:
		return errnoBadf
	default:
		b[0] = socketStream
	}
	if ok && !d.blocks {
		b[2] = flagNonblock
	}
	binary.LittleEndian.PutUint64(b[8:], rights)
	return errnoSuccess
}

// fdSetFlags sets whether reading and writing wait.
func fdSetFlags(in *Instance, m api.Memory, a []uint64) uint32 {
	fd := int32(a[0])
	if d, ok := in.fds[fd]; ok && in.Blocking {
		d.blocks = a[1]&flagNonblock == 0
		in.fds[fd] = d
	}
	return known(in, m, a)
}

// known succeeds for every open descriptor.
func known(in *Instance, _ api.Memory, a []uint64) uint32 {
	if fd := int32(a[0]); in.fds[fd] == (descriptor{}) && (fd < 0 || fd > stderr) {
		return errnoBadf
	}
	return errnoSuccess
}

func dial(in *Instance, m api.Memory, a []uint64) uint32 {
	in.live()
	addr, ok := m.Read(uint32(a[0]), uint32(a[1]))
	if !ok {
		return negative(errnoFault)
	}
	to := string(addr)
	if in.Resolve != nil {
		to = in.Resolve(to)
	}
	c, err := in.machine.Dial(to)
	if err != nil {
		return negative(errnoOf(err))
	}
	return uint32(in.open(descriptor{conn: c, blocks: in.Blocking}))
}

func negative(errno uint32) uint32 { return uint32(-int32(errno)) }

func connected(in *Instance, _ api.Memory, a []uint64) uint32 {
	d := in.fds[int32(a[0])]
	if d.conn == nil {
		return errnoBadf
	}
	return errnoOf(d.conn.Connected())
}

func idle(in *Instance, _ api.Memory, a []uint64) uint32 {
	if d := in.fds[int32(a[0])]; d.conn != nil && d.conn.Connected() == nil && !d.conn.Readable() {
		return 1
	}
	return 0
}

func ask(in *Instance, m api.Memory, a []uint64) uint32 {
	q, ok := m.Read(uint32(a[0]), uint32(a[1]))
	if !ok {
		return 0
	}
	in.answer = in.Ask(in, append([]byte(nil), q...))
	in.live()
	return uint32(len(in.answer))
}

// Yield is [sim.Guest.Yield], for Config.Ask.
func (in *Instance) Yield() { in.guest.Yield() }

// Pause is [sim.Guest.Pause], for Config.Ask.
func (in *Instance) Pause(d time.Duration) { in.guest.Pause(d) }

func answer(in *Instance, m api.Memory, a []uint64) uint32 {
	m.Write(uint32(a[0]), in.answer)
	return 0
}

// errnoOf returns the number that WASI has for an error of a connection. This system may have another number for it.
func errnoOf(err error) uint32 {
	switch {
	case err == nil:
		return errnoSuccess
	case errors.Is(err, sim.ErrWouldBlock):
		return errnoAgain
	case errors.Is(err, syscall.ECONNREFUSED):
		return errnoConnRefused
	case errors.Is(err, syscall.ECONNRESET):
		return errnoConnReset
	case errors.Is(err, syscall.EPIPE):
		return errnoPipe
	case errors.Is(err, syscall.EHOSTUNREACH):
		return errnoUnreachable
	case errors.Is(err, errFault):
		return errnoFault
	case errors.Is(err, errBadf):
		return errnoBadf
	}
	return errnoIO
}
