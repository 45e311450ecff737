//go:build !wasm

package wasm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"lockstep/sim"
)

// A Module is a compiled program. Only one goroutine at a time may use it or one of its instances, and all instances that run at
// the same time belong to one world.
type Module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	memories *memories                                    // nil: wazero allocates memory, and copies the data of the module into it
	given    map[string]map[string]api.FunctionDefinition // what the host gives, by module and name
}

// MostMemory limits the memory of one instance, in pages of 64 KiB.
const MostMemory = 512 << 20 / pageSize

const pageSize = 64 << 10

// Compile compiles a program, and keeps its machine code in the directory cache.
func Compile(ctx context.Context, program []byte, cache string) (*Module, error) {
	return compile(ctx, program, cache, newMemories)
}

func compile(ctx context.Context, program []byte, cache string, keep func(data []byte) (*memories, error)) (*Module, error) {
	kept, err := wazero.NewCompilationCacheWithDir(cache)
	if err != nil {
		return nil, err
	}
	// Without debug information: whenever an instance ends, wazero would look up the line of each frame in it, which takes longer
	// than a run.
	config := wazero.NewRuntimeConfig().WithCompilationCache(kept).WithMemoryLimitPages(MostMemory).WithDebugInfoEnabled(false)
	r := wazero.NewRuntimeWithConfig(ctx, config)
	m := &Module{runtime: r, given: map[string]map[string]api.FunctionDefinition{}}
	wasi := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(wasi)
	host := r.NewHostModuleBuilder(hostModule)
	for _, f := range functions {
		b := wasi
		if f.ours {
			b = host
		}
		b.NewFunctionBuilder().WithGoModuleFunction(f.call(), f.params, f.results).Export(f.name)
	}
	for _, b := range []wazero.HostModuleBuilder{wasi, host} {
		given, err := b.Instantiate(ctx)
		if err != nil {
			r.Close(ctx)
			return nil, err
		}
		m.given[given.Name()] = given.ExportedFunctionDefinitions()
	}
	if rest, data, err := takeData(program); err == nil {
		if m.memories, err = keep(data); err == nil {
			program = rest
		}
	}
	if m.compiled, err = r.CompileModule(ctx, program); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close frees the module. None of its instances may be running.
func (m *Module) Close() error {
	if m.memories != nil {
		m.memories.close()
	}
	return m.runtime.Close(context.Background())
}

// hostModule is the module with the functions that WASI lacks; see the package documentation.
const hostModule = "lockstep"

// A Machine is what an instance sees of the world. Only the goroutine of the instance calls it.
type Machine interface {
	Steady() time.Duration // the reading of the steady clock, at least 0
	Wall() time.Time
	// Wait returns when something has happened on a connection since the last call, the steady clock has reached the reading due, or
	// the process dies. If due is negative, no reading ends the wait.
	Wait(due time.Duration)
	Alive() bool
	Dial(addr string) (Conn, error) // begins to connect, and does not wait
}

// A Conn is what an instance reads and writes. No method waits. While there is nothing to read, or no connection yet, they return
// [sim.ErrWouldBlock].
type Conn interface {
	TryRead(b []byte) (int, error)
	Write(b []byte) (int, error)
	Connected() error
	Readable() bool
	Close() error
}

// guest is a process of a world as a Machine.
type guest struct{ *sim.Guest }

func (g guest) Dial(addr string) (Conn, error) {
	c, err := g.Guest.Dial(addr)
	if err != nil {
		return nil, err // not a nil *sim.Conn, which would be a Conn
	}
	return c, nil
}

// Config says what one instance has. Exactly one of Process and Machine is set.
type Config struct {
	Process *sim.Process // becomes a guest: no code of this process may run outside the instance
	Machine Machine
	// In and Out are the standard input and output of the instance. By default there is no input, and the output is kept,
	// together with standard error, for Err.
	In, Out Conn
	// Starved is called before the instance waits for input. If it returns an error, the instance ends. By default the instance
	// may wait.
	Starved func() error
	// Blocking says that reading and writing wait, unless the instance has asked for the flag NONBLOCK of a descriptor.
	Blocking bool
	Random   *rand.Rand // all randomness of the instance
	Args     []string
	Env      []string                 // NAME=VALUE
	Resolve  func(addr string) string // returns the address to connect to in place of addr; default: addr
	// Ask answers the questions of the instance, in its goroutine. While it does, no code of the process runs.
	Ask func(in *Instance, question []byte) (answer []byte)
}

// An Instance is a process of a world that runs a module.
type Instance struct {
	Config
	guest   *sim.Guest // of Process; nil with a Machine
	machine Machine
	fds     map[int32]descriptor
	next    int32
	answer  []byte
	looks   int // host calls since the instance last waited
	output  []byte
	ended   chan struct{}
	err     error
	failed  error  // why the host ended it
	memory  uint64 // bytes
	died    bool   // its process has crashed, or the world was closed
	exited  bool   // the program has ended by itself, with status 0
}

// Start runs an instance in a goroutine of its own, until its program exits or its process dies.
func (m *Module) Start(c Config) *Instance {
	in := &Instance{Config: c, machine: c.Machine, fds: map[int32]descriptor{}, next: firstFD, ended: make(chan struct{})}
	if c.Process != nil {
		in.guest = c.Process.Guest()
		in.machine = guest{in.guest}
	}
	for fd, std := range []Conn{c.In, c.Out} {
		if std != nil {
			in.fds[int32(fd)] = descriptor{conn: std, blocks: c.Blocking}
		}
	}
	go func() {
		defer close(in.ended)
		in.err = in.run(m)
		in.hangUp()
	}()
	return in
}

// Ended is closed when the instance has ended.
func (in *Instance) Ended() <-chan struct{} { return in.ended }

// Dead is closed when the process of the instance dies.
func (in *Instance) Dead() <-chan struct{} { return in.guest.Dead() }

// Err says why the program failed, once the instance has ended; it is nil if the program exited normally or its process died. The
// first line is the reason. The other lines are what the program printed; a Go program also prints the stacks of its goroutines.
func (in *Instance) Err() error { return in.err }

// Exited reports whether the program has ended by itself, and normally.
func (in *Instance) Exited() bool { return in.exited }

type instanceKey struct{}

func (in *Instance) run(m *Module) error {
	ctx := context.WithValue(context.Background(), instanceKey{}, in)
	c := wazero.NewModuleConfig().WithName("").WithArgs(in.Args...)
	for _, e := range in.Env {
		if k, v, _ := strings.Cut(e, "="); k != "" {
			c = c.WithEnv(k, v)
		}
	}
	if m.memories != nil {
		memory, err := m.memories.next()
		if err != nil {
			return err
		}
		ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { return measured{memory, in} }))
	}
	mod, err := m.runtime.InstantiateModule(ctx, m.compiled, c)
	if mod != nil {
		defer mod.Close(ctx)
	}
	var exit *sys.ExitError
	switch {
	case in.died:
		return nil
	case err == nil, errors.As(err, &exit) && exit.ExitCode() == 0:
		in.exited = true
		return nil
	case in.failed != nil:
		return fmt.Errorf("%w\n%s", in.failed, in.output)
	case errors.As(err, &exit):
		return &ExitError{Code: exit.ExitCode(), Full: in.full(), Output: string(in.output)}
	}
	reason, stack, _ := strings.Cut(strings.TrimPrefix(err.Error(), "module[] function[_start] failed: "), "\n")
	if in.full() {
		reason += ", " + fullMemory
	}
	return fmt.Errorf("%s\n%s\n%s", reason, in.output, stack)
}

// measured is a memory that knows its size.
type measured struct {
	experimental.LinearMemory
	in *Instance
}

func (m measured) Reallocate(size uint64) []byte {
	m.in.memory = size
	return m.LinearMemory.Reallocate(size)
}

// full reports whether the memory of the instance may have been too small. A program asks for more in large pieces.
func (in *Instance) full() bool { return in.memory > MostMemory*pageSize*3/4 }

const fullMemory = "when it had nearly all of the 512 MiB of memory that it may have"

// fail ends the instance from a host function.
func (in *Instance) fail(why error) {
	in.failed = why
	panic(why)
}

// ExitError says that the program of a guest ended with a code other than 0.
type ExitError struct {
	Code   uint32
	Full   bool   // it had nearly all the memory that it may have
	Output string // what it printed
}

// mostQuoted is about how many bytes of a guest's last line of output its error quotes.
const mostQuoted = 200

func (e *ExitError) Error() string {
	reason := fmt.Sprintf("the process of the client exited with status %d", e.Code)
	if e.Full {
		reason += ", " + fullMemory
	}
	last := ""
	for line := range strings.Lines(e.Output) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line + "\n" + e.Output
		}
		last = cmp.Or(line, last)
	}
	if last != "" {
		if len(last) > mostQuoted {
			last = last[:mostQuoted] + "…"
		}
		reason += fmt.Sprintf(", after it had printed %q", last)
	}
	return reason + "\n" + e.Output
}

// live ends the instance if its process has died. Host functions call it.
func (in *Instance) live() {
	if !in.machine.Alive() {
		in.died = true
		panic(sys.NewExitError(137)) // as for a process that was killed
	}
}

// hangUp closes what the process has left open, as an operating system does.
func (in *Instance) hangUp() {
	for _, d := range in.fds {
		if d.conn != nil {
			d.conn.Close()
		}
	}
}

// function is a host function.
type function struct {
	ours    bool
	name    string
	params  []api.ValueType
	results []api.ValueType
	do      func(in *Instance, m api.Memory, a []uint64) uint32
}

func (f function) call() api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		in := ctx.Value(instanceKey{}).(*Instance)
		if in.looks++; in.looks > mostLooks {
			in.fail(errSpins)
		}
		r := f.do(in, mod.Memory(), stack)
		if len(f.results) > 0 {
			stack[0] = uint64(r)
		}
	}
}

// mostLooks is how many host calls an instance may make without waiting. Time stands still while its code runs, so code that
// reads the clock until some time has passed would never end.
const mostLooks = 20_000_000

var errSpins = errors.New("the code reads its clock again and again without waiting: while code runs, no time passes")
