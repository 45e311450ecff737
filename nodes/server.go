package nodes

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

// ErrNoServer says that there is no redis-server to start.
var ErrNoServer = errors.New("redis-server is not on the PATH; install it (Debian: apt-get install redis-server) or stay in simulation")

// oldest is the first version of redis-server that tells when a key ends (PEXPIRETIME), and that logs it as an absolute time.
const oldest = 7

// FindServer says why no redis-server can be started: [ErrNoServer], one that is too old, or no place for its files. It is nil
// if there is one.
func FindServer() error {
	if _, err := findServer(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockstep-")
	if err != nil {
		return fmt.Errorf("there is no place for the files of redis-server: %w; set TMPDIR to a directory that can be written to", err)
	}
	return os.Remove(dir)
}

var versionOf = regexp.MustCompile(`v=((\d+)[0-9.]*)`)

func findServer() (path string, err error) {
	if path, err = exec.LookPath("redis-server"); err != nil {
		return "", ErrNoServer
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	v := versionOf.FindSubmatch(out)
	if v == nil {
		return "", fmt.Errorf("%s --version does not say its version: %q", path, bytes.TrimSpace(out))
	}
	if major, _ := strconv.Atoi(string(v[2])); major < oldest {
		return "", fmt.Errorf("%s is version %s; Lockstep needs %d or newer", path, v[1], oldest)
	}
	return path, nil
}

// Server is a redis-server process on 127.0.0.1, with a port and a directory of its own.
//
// It logs every write to its append-only file but leaves it to the operating system when that reaches the disk. That is
// enough for a node that is killed and remembers everything when it comes back (the page cache outlives a process) and
// costs no fsync; one that is to come back empty loses the file. Data never survive [Server.Stop].
//
// The process never outlives this one for long: it is killed by Stop, at the end of the context, and on linux by the
// kernel when this process ends in whatever way. Its directory goes with the first two.
type Server struct {
	ctx   context.Context
	path  string
	dir   string
	extra []string
	clock *ownClock // nil: that of the machine
	// sentinel is the configuration file of a process that is no server, but watches some; empty: it is a server.
	sentinel string
	untie    func() bool // from the end of ctx

	mu      sync.Mutex // guards all below
	stopped bool
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the process is gone
	wanted  *atomic.Bool  // nobody has ended the process
	lost    func(error)   // called when it ends nevertheless; nil: nobody wants to know
	control *redis.Client // a connection of our own, for what no client asks
	addr    string
}

const (
	startTries = 10               // ports that may turn out to be taken
	startLimit = 10 * time.Second // for a server to answer
	startPoll  = 2 * time.Millisecond
)

// errTaken says that somebody else was given the port first.
var errTaken = errors.New("the port is taken")

// StartServer starts an empty server, and returns when it answers. The error is [ErrNoServer] where there is none to start.
// Its configuration can be added to, in the form of a command line: "--replicaof", "127.0.0.1 6379".
func StartServer(ctx context.Context, extra ...string) (*Server, error) {
	path, err := findServer()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, path, "", nil, extra...)
}

// startServer starts a server that has its directory under another one, by default that for temporary files, and perhaps a clock
// of its own.
func startServer(ctx context.Context, path, under string, clock *ownClock, extra ...string) (*Server, error) {
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

// Addr is where the server listens. It is another one after each [Server.Restart].
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Crash kills the process as kill -9 does, and returns when it is gone.
func (s *Server) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

// Quit ends the process in good order (SIGTERM), and returns when it is gone. A process that is paused is resumed for that.
func (s *Server) Quit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if termSignal == nil {
		return fmt.Errorf("ending a process in good order on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	s.wanted.Store(false)
	for _, sig := range []os.Signal{termSignal, contSignal} {
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
			return s.lastWarning(fmt.Errorf("redis-server has not ended %v after SIGTERM", startLimit))
		case <-time.After(quitPoll):
			// One that cannot save what it has goes on. It says so, if there is room for that.
			if said, _ := os.ReadFile(s.log()); bytes.Contains(said, []byte("can't exit")) {
				return s.lastWarning(errDisk)
			}
		}
	}
}

const quitPoll = 20 * time.Millisecond

// watch has f called if the process ends that nobody has ended.
func (s *Server) watch(f func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = f
}

// cause says what is behind an error on a connection to the server: that its process has ended by itself, if it has.
func (s *Server) cause(err error) error {
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

// deathDelay is how much later than its connections a process may end.
const deathDelay = 500 * time.Millisecond

func (s *Server) death() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastWarning(fmt.Errorf("redis-server ended by itself: %v", s.cmd.ProcessState))
}

// Restart starts a crashed server again, with what it had or, if empty, with nothing.
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

// Pause stops the process from running (SIGSTOP): its connections stay, and nobody answers on them.
func (s *Server) Pause() error { return s.signal(stopSignal) }

// Resume ends a [Server.Pause] (SIGCONT).
func (s *Server) Resume() error { return s.signal(contSignal) }

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

// jump moves the end of every key. A script does it in one step: no key is seen with its old end beside another with its new.
var jump = redis.NewScript(`
	local moved = 0
	for _, key in ipairs(redis.call('KEYS', '*')) do
		local deadline = redis.call('PEXPIRETIME', key)
		if deadline > 0 then
			moved = moved + redis.call('PEXPIREAT', key, string.format('%d', deadline - ARGV[1]))
		end
	end
	return moved`)

// Jump does to the keys what a jump of the server's wall clock by so much would do: a stock redis-server has no clock that
// can be set, so all ends come nearer instead, or, if by is negative, move away. It returns how many keys that concerned.
// What it does not do: the reply of TIME, and ends that clients name as absolute times, are as if nothing had happened. For these a
// server needs a clock of its own, which one of [StartClusterWithClocks] has.
func (s *Server) Jump(by time.Duration) (moved int, err error) {
	return jump.Run(s.ctx, s.client(), nil, by.Milliseconds()).Int()
}

// readKey is a function of Lua that reads what a key holds. It changes nothing.
const readKey = `
	local function read(kind, key)
		if kind == 'string' then return redis.call('GET', key)
		elseif kind == 'hash' then return redis.call('HGETALL', key)
		elseif kind == 'list' then return redis.call('LRANGE', key, 0, -1)
		elseif kind == 'set' then return redis.call('SMEMBERS', key)
		elseif kind == 'zset' then return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
		end
		return {}
	end
`

// readEntry makes an entry of the type of a key, of what readKey read of it, and of its end, or -1.
func readEntry(name string, read []any) entry {
	e := entry{deadline: max(0, read[2].(int64))}
	if value, ok := read[1].(string); ok {
		e.value, e.text = value, true
		return e
	}
	var parts []string
	for _, p := range read[1].([]any) {
		parts = append(parts, p.(string))
	}
	e.value = collection(append([]string{makers[read[0].(string)], name}, ordered(read[0].(string), parts)...)).value
	return e
}

// makers are the commands that make keys of a type.
var makers = map[string]string{"hash": "HSET", "list": "RPUSH", "set": "SADD", "zset": "ZADD", "stream": "XADD"}

// ordered puts what a server says in any order into the one of [Redis.Snapshot].
func ordered(kind string, parts []string) []string {
	switch kind {
	case "set":
		slices.Sort(parts)
	case "hash":
		var pairs [][]string
		for pair := range slices.Chunk(parts, 2) {
			pairs = append(pairs, pair)
		}
		slices.SortFunc(pairs, slices.Compare)
		return slices.Concat(pairs...)
	case "zset":
		for pair := range slices.Chunk(parts, 2) {
			pair[0], pair[1] = pair[1], pair[0]
		}
	}
	return parts
}

// snapshot tells whether the disk takes what the server writes, the time of the server in milliseconds, and its keys. Time
// stands still in a script.
var snapshot = redis.NewScript(readKey + `
	local disk = redis.call('INFO', 'persistence')
	local full = string.find(disk, 'aof_last_write_status:err', 1, true) or string.find(disk, 'rdb_last_bgsave_status:err', 1, true)
	local time = redis.call('TIME')
	local all = {full and 1 or 0, time[1] * 1000 + math.floor(time[2] / 1000)}
	for _, key in ipairs(redis.call('KEYS', '*')) do
		local kind = redis.call('TYPE', key).ok
		table.insert(all, key)
		table.insert(all, kind)
		table.insert(all, read(kind, key))
		table.insert(all, redis.call('PEXPIRETIME', key))
	end
	return all`)

// errDisk says that a server cannot write what it should remember. What it answers from then on says nothing of a lock.
var errDisk = errors.New("redis-server cannot write to its disk")

// keys returns the keys that live, and the time of the server, in milliseconds since 1970.
func (s *Server) keys() (at int64, keys map[string]entry, err error) {
	all, err := snapshot.Run(s.ctx, s.client(), nil).Slice()
	if err != nil {
		return 0, nil, err
	}
	if all[0].(int64) != 0 {
		return 0, nil, s.lastWarning(errDisk)
	}
	keys = map[string]entry{}
	at, all = all[1].(int64), all[2:]
	for ; len(all) > 0; all = all[4:] {
		name := all[0].(string)
		keys[name] = readEntry(name, all[1:4])
	}
	return at, keys, nil
}

func (s *Server) client() *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.control
}

// start starts the process on a free port. The caller holds mu, or is alone.
func (s *Server) start() (err error) {
	for range startTries {
		// The kernel knows a free port. Until redis-server has it somebody else may get it, and then we try another.
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
		// On linux the process dies with the thread that started it. So that thread waits for it, and does nothing else.
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
	// A process that only waits for the server could be stopped and killed, and the server would go on.
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

// bereft tells whoever wants to know that the process has ended.
func (s *Server) bereft() {
	s.mu.Lock()
	f := s.lost
	s.mu.Unlock()
	if f != nil && s.ctx.Err() == nil {
		f(s.death())
	}
}

// listens is what the log says of a server that can be reached.
const listens = "Ready to accept connections"

// await returns when the log of the server says that it listens. To knock on the port instead would not tell our server
// from somebody else's that was faster.
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

// lastWords adds to an error what the server logged last.
func (s *Server) lastWords(err error) error {
	said, readErr := os.ReadFile(s.log())
	if readErr != nil {
		return err
	}
	if len(bytes.TrimSpace(said)) == 0 {
		return fmt.Errorf("%w; it has logged nothing, as where the disk of %s is full", err, s.dir)
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	return fmt.Errorf("%w; its log ends with:\n%s", err, bytes.Join(lines[max(0, len(lines)-5):], []byte("\n")))
}

// lastWarning adds to an error what the server has warned of last since it listens, in the same line.
func (s *Server) lastWarning(err error) error {
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
