// Package redisserver starts redis-server processes on this machine, and injects faults into them: it kills, pauses and
// restarts a server, and makes its clock jump, drift or slew. It knows nothing of runs: package live puts these servers
// behind proxies and records what happens, and the tests of package engine compare the engine with them.
package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is a redis-server process on 127.0.0.1, with its own port and directory.
//
// It logs every write to its append-only file, and leaves it to the operating system when the write reaches the disk. This is
// enough for a node that is killed and keeps everything, because the page cache outlives the process, and costs no fsync. A node
// that restarts empty loses the file. [Server.Stop] removes the data in any case.
//
// The process hardly outlives this one: it is killed by Stop, at the end of the context, and on Linux by the kernel when this
// process ends for any reason. Stop and the end of the context also remove its directory.
type Server struct {
	ctx   context.Context
	path  string
	dir   string
	extra []string
	clock *Clock // nil: the clock of the machine
	// sentinel is the configuration file if the process is a Sentinel; otherwise it is empty.
	sentinel string
	untie    func() bool // stops waiting for the end of ctx

	mu      sync.Mutex // guards the fields below
	stopped bool
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the process has ended
	wanted  *atomic.Bool  // nobody has ended the process
	lost    func(error)   // called if the process ends by itself; may be nil
	control *redis.Client // Lockstep's own connection
	addr    string
}

const (
	startTries = 10               // how many ports to try, since another process may take one
	startLimit = 30 * time.Second // for a server to accept connections; with a slow disk it has taken more than ten
	startPoll  = 2 * time.Millisecond
)

// errTaken says that another process got the port first.
var errTaken = errors.New("the port is taken")

// Start starts an empty server, and returns when it accepts connections. The error is [ErrNoServer] if there is no redis-server.
// extra adds to its configuration, in the form of a command line: "--replicaof", "127.0.0.1 6379".
func Start(ctx context.Context, extra ...string) (*Server, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	return StartIn(ctx, path, "", nil, extra...)
}

// StartIn is [Start] for the redis-server binary at path. The directory of the server is created in under, or in the directory for
// temporary files if under is empty. A nil clock means the clock of the machine; another clock must be closed by its maker.
func StartIn(ctx context.Context, path, under string, clock *Clock, extra ...string) (*Server, error) {
	dir, err := os.MkdirTemp(under, "lockstep-redis-")
	if err != nil {
		return nil, err
	}
	s := &Server{ctx: ctx, path: path, dir: dir, extra: extra, clock: clock}
	if err := s.start(); err != nil {
		s.end()
		return nil, err
	}
	s.untie = context.AfterFunc(ctx, s.end)
	return s, nil
}

// Addr returns the address at which the server listens. It changes with each [Server.Restart].
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Crash kills the process, as kill -9 does, and returns when it has ended.
func (s *Server) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

// Quit ends the process in an orderly way (SIGTERM), and returns when it has ended. It first resumes a paused process.
func (s *Server) Quit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if TermSignal == nil {
		return fmt.Errorf("ending a process in good order on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	s.wanted.Store(false)
	for _, sig := range []os.Signal{TermSignal, ContSignal} {
		if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	limit := time.After(startLimit)
	for {
		select {
		case <-s.exited:
			s.control.Close()
			return nil
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-limit:
			return s.LastWarning(fmt.Errorf("redis-server has not ended %v after SIGTERM", startLimit))
		case <-time.After(quitPoll):
			// A server that cannot save its data goes on. It logs this, if there is room for the log.
			if said, _ := os.ReadFile(s.log()); bytes.Contains(said, []byte("can't exit")) {
				return s.LastWarning(ErrDisk)
			}
		}
	}
}

const quitPoll = 20 * time.Millisecond

// Process returns the current process of the server. A restart replaces it.
func (s *Server) Process() *os.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process
}

// Exited returns a channel that is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

// Dir returns the directory that holds the files of the server: appendonlydir, dump.rdb.
func (s *Server) Dir() string { return s.dir }

// Clock returns the clock that the server was given, or nil if it uses the clock of the machine.
func (s *Server) Clock() *Clock { return s.clock }

// Configuration returns what is added to the usual configuration, in the form of a command line.
func (s *Server) Configuration() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.extra
}

// Configure sets the [Server.Configuration] for the next start of the server.
func (s *Server) Configure(extra []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = extra
}

// Watch sets a function that is called if the process ends by itself.
func (s *Server) Watch(f func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = f
}

// Cause returns an error that explains err, an error on a connection to the server, if its process has ended by itself; otherwise
// it returns err.
func (s *Server) Cause(err error) error {
	s.mu.Lock()
	exited, wanted := s.exited, s.wanted
	s.mu.Unlock()
	select {
	case <-exited:
		if wanted.Load() {
			return s.death()
		}
	case <-time.After(deathDelay):
	}
	return err
}

// deathDelay is how much later than its connections a process may end, on a machine that is busy.
const deathDelay = 3 * time.Second

func (s *Server) death() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.LastWarning(fmt.Errorf("redis-server ended by itself: %v", s.cmd.ProcessState))
}

// Restart starts a crashed server again, with its data or, if empty is set, without.
func (s *Server) Restart(empty bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("redis-server was stopped for good")
	}
	s.kill()
	if empty {
		for _, file := range []string{"appendonlydir", "dump.rdb"} {
			if err := os.RemoveAll(filepath.Join(s.dir, file)); err != nil {
				return err
			}
		}
	}
	return s.start()
}

// Pause stops the process (SIGSTOP): its connections stay open, but nothing answers on them.
func (s *Server) Pause() error { return s.signal(StopSignal) }

// Resume ends a [Server.Pause] (SIGCONT).
func (s *Server) Resume() error { return s.signal(ContSignal) }

func (s *Server) signal(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sig == nil {
		return fmt.Errorf("pausing a process on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	return s.cmd.Process.Signal(sig)
}

// Stop kills the process and removes its directory. It may be called more than once.
func (s *Server) Stop() {
	s.untie()
	s.end()
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.kill()
	os.RemoveAll(s.dir)
}

// jump moves the deadlines of all keys. A script does it in one step, so that nobody sees an old deadline beside a new one.
var jump = redis.NewScript(`
	local moved = 0
	for _, key in ipairs(redis.call('KEYS', '*')) do
		local deadline = redis.call('PEXPIRETIME', key)
		if deadline > 0 then
			moved = moved + redis.call('PEXPIREAT', key, string.format('%d', deadline - ARGV[1]))
		end
	end
	return moved`)

// Jump does to the keys what a jump of the server's wall clock would do: it moves all deadlines by so much, because a stock
// redis-server has no clock that can be set. It returns how many keys have moved. It affects neither the reply to TIME nor
// deadlines that clients give as absolute times. For these a server needs its own [Clock].
func (s *Server) Jump(by time.Duration) (moved int, err error) {
	return s.Run(jump, by.Milliseconds()).Int()
}

// Run makes the server run a script, with args and without keys.
func (s *Server) Run(script *redis.Script, args ...any) *redis.Cmd {
	return script.Run(s.ctx, s.Client(), nil, args...)
}

// ErrDisk says that a server cannot write to its disk. Its replies from then on say nothing about a lock.
var ErrDisk = errors.New("redis-server cannot write to its disk")

// Client returns a connection for Lockstep itself, not for the clients of a run. A restart of the server ends it.
func (s *Server) Client() *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.control
}

// start starts the process on a free port. The caller holds mu, or no other goroutine has the server yet.
func (s *Server) start() (err error) {
	for range startTries {
		// The kernel picks a free port. Another process may take it before redis-server does; then the next one is tried.
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		s.addr = l.Addr().String()
		l.Close()
		if err = s.launch(); !errors.Is(err, errTaken) {
			return err
		}
	}
	return err
}

func (s *Server) launch() error {
	_, port, _ := net.SplitHostPort(s.addr)
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{
		"--bind", "127.0.0.1", "--port", port, "--protected-mode", "yes", "--daemonize", "no", "--databases", "1",
		"--dir", s.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "no"}, s.extra...)
	if s.sentinel != "" {
		args = []string{s.sentinel, "--sentinel", "--bind", "127.0.0.1", "--port", port, "--dir", s.dir}
	}
	cmd := exec.CommandContext(s.ctx, s.path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if s.clock != nil {
		cmd.Env = append(os.Environ(), s.clock.env()...)
	}
	tether(cmd)

	exited, started, wanted := make(chan struct{}), make(chan error), new(atomic.Bool)
	go func() {
		// On Linux the process is killed when the thread that started it ends. So that thread does nothing but wait for the
		// process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(exited)
			if wanted.Load() {
				s.bereft()
			}
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("cannot start redis-server: %w", err)
	}
	s.cmd, s.exited, s.wanted = cmd, exited, wanted
	err = s.await()
	if err == nil && s.clock != nil {
		err = s.clock.loaded(cmd.Process.Pid)
	}
	if err != nil {
		s.kill()
		return err
	}
	s.control = redis.NewClient(&redis.Options{
		Addr: s.addr, Protocol: 2, MaxRetries: -1, ReadTimeout: -1, WriteTimeout: -1, PoolSize: 64, ConnMaxIdleTime: -1, DisableIdentity: true,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	ctx, cancel := context.WithTimeout(s.ctx, startLimit)
	defer cancel()
	info, err := s.control.Info(ctx, "server").Result()
	if err != nil {
		s.kill()
		return s.lastWords(fmt.Errorf("redis-server does not answer: %w", err))
	}
	// If the process only waited for the server, signals would stop and kill it, but not the server.
	if pid := serverPID.FindStringSubmatch(info); pid != nil && pid[1] != strconv.Itoa(cmd.Process.Pid) {
		n, _ := strconv.Atoi(pid[1])
		if server, err := os.FindProcess(n); err == nil {
			server.Kill()
		}
		s.kill()
		return fmt.Errorf("%s is not redis-server but starts it in a process of its own: if it is a script, write exec before the command", s.path)
	}
	wanted.Store(true)
	return nil
}

var serverPID = regexp.MustCompile(`process_id:(\d+)`)

// bereft calls the function of Watch when the process has ended.
func (s *Server) bereft() {
	s.mu.Lock()
	f := s.lost
	s.mu.Unlock()
	if f != nil && s.ctx.Err() == nil {
		f(s.death())
	}
}

// listens is what the log says when a server accepts connections.
const listens = "Ready to accept connections"

// await returns when the server's log says that it listens. A connection to the port would not distinguish our server from another
// process that took the port.
func (s *Server) await() error {
	for deadline := time.Now().Add(startLimit); ; {
		said, err := os.ReadFile(s.log())
		if err != nil {
			return err
		}
		if bytes.Contains(said, []byte(listens)) || bytes.Contains(said, []byte("# +monitor master")) {
			return nil
		}
		select {
		case <-s.exited:
			if err := s.ctx.Err(); err != nil {
				return err
			}
			if said, _ := os.ReadFile(s.log()); bytes.Contains(said, []byte("Address already in use")) {
				return s.lastWords(errTaken)
			}
			return s.lastWords(errors.New("redis-server ended before it listened"))
		case <-time.After(startPoll):
		}
		if time.Now().After(deadline) {
			return s.lastWords(fmt.Errorf("redis-server does not listen after %v", startLimit))
		}
	}
}

// kill ends the process. The caller holds mu.
func (s *Server) kill() {
	if s.control != nil {
		s.control.Close()
	}
	if s.cmd != nil {
		s.wanted.Store(false)
		s.cmd.Process.Kill()
		<-s.exited
	}
}

func (s *Server) log() string { return filepath.Join(s.dir, "redis.log") }

// lastWords adds the last lines of the log to an error.
func (s *Server) lastWords(err error) error {
	said, readErr := os.ReadFile(s.log())
	if readErr != nil {
		return err
	}
	if len(bytes.TrimSpace(said)) == 0 {
		return fmt.Errorf("%w; it has logged nothing, as happens if the disk of %s is full", err, s.dir)
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	return fmt.Errorf("%w; its log ends with:\n%s", err, bytes.Join(lines[max(0, len(lines)-5):], []byte("\n")))
}

// LastWarning adds to an error, on the same line, the last warning that the server has logged since it began to listen.
func (s *Server) LastWarning(err error) error {
	said, readErr := os.ReadFile(s.log())
	if readErr != nil {
		return err
	}
	_, since, _ := strings.Cut(string(said), listens)
	for _, line := range slices.Backward(strings.Split(since, "\n")) {
		if _, warning, ok := strings.Cut(line, " # "); ok {
			return fmt.Errorf("%w; it has warned: %s", err, warning)
		}
	}
	return err
}
