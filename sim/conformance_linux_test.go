package sim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// subjectEnv names the variable that makes the test binary the subject of a row: "client NUMBER ADDRESS NOBODY" or "server".
const subjectEnv = "LOCKSTEP_CONFORMANCE"

// attempts is how often a row is tried on real processes. Their notes do not depend on short times, but a busy machine can exceed
// any limit. And although Go nearly always reads what has arrived after a SIGCONT before it fires overdue timers, its monitor
// thread may come first. One attempt that agrees shows that the simulation does what a real process does.
const attempts = 10

// TestConformanceOfProcesses runs the table on real processes.
func TestConformanceOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("pauses real processes, for seconds")
	}
	for i, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for attempt := 1; ; attempt++ {
				client, server := b.onProcesses(t, i)
				err := b.judge(client, server)
				if err == nil {
					return
				}
				if attempt == attempts {
					t.Fatalf("%v\nit stands for %s", err, b.stands)
				}
				t.Logf("attempt %d: %v", attempt, err)
				time.Sleep(time.Duration(attempt) * 100 * ms) // the load on the machine may fall
			}
		})
	}
}

// onProcesses runs a row with its subject in a separate process.
func (b behaviour) onProcesses(t *testing.T, row int) (client, server []string) {
	closed := listen(t)
	closed.Close()
	nobody := closed.Addr().String()
	var clientNotes, serverNotes notes
	p := &proxy{}
	p.flow = sync.NewCond(&p.mu)

	var child *subject
	clientDone := make(chan struct{})
	if b.subject == "server" {
		child = startSubject(t, "server", &serverNotes)
		p.to = child.say(t)
	} else {
		l := listen(t)
		defer l.Close()
		go serve(l, serverNotes.add)
		p.to = l.Addr().String()
	}
	front := listen(t)
	defer front.Close()
	defer p.shut()
	go p.run(front)

	addr := p.to // a proxy closes connections in its own way, so there is one only if a row needs it
	if strings.Contains(b.faults, "cut") {
		addr = front.Addr().String()
	}
	start := time.Now()
	if b.subject == "server" {
		go func() {
			defer close(clientDone)
			b.client(realScene(addr, nobody, start, clientNotes.add))
		}()
	} else {
		child = startSubject(t, fmt.Sprintf("client %d %s %s", row, addr, nobody), &clientNotes)
		child.say(t) // the subject has started
		start = time.Now()
		go func() {
			defer close(clientDone)
			<-child.done
		}()
	}
	defer child.end()

	b.eachFault(func(at time.Duration, what string) {
		time.Sleep(time.Until(start.Add(at)))
		switch what {
		case "pause":
			child.signal(t, syscall.SIGSTOP)
		case "resume":
			child.signal(t, syscall.SIGCONT)
		case "kill":
			child.signal(t, syscall.SIGKILL)
		case "cut":
			p.cut(true)
		case "heal":
			p.cut(false)
		}
	})
	select {
	case <-clientDone:
	case <-time.After(20 * time.Second):
		t.Error("the client does not end")
	}
	// Everything that was sent has arrived long ago, unless the machine is very busy.
	for range 100 {
		if b.serves == nil || len(serverNotes.list()) >= len(b.serves) {
			break
		}
		time.Sleep(20 * ms)
	}
	return clientNotes.list(), serverNotes.list()
}

func realScene(addr, nobody string, start time.Time, note func(string)) scene {
	dial := func(addr string) func() (net.Conn, error) {
		return func() (net.Conn, error) { return net.Dial("tcp", addr) }
	}
	return scene{
		dial:   dial(addr),
		nobody: dial(nobody),
		clock:  clockwork.NewRealClock(),
		until:  func(d time.Duration) { time.Sleep(time.Until(start.Add(d))) },
		note:   note,
	}
}

// TestConformanceSubject is not a test but the process that the tests above stop and kill.
func TestConformanceSubject(t *testing.T) {
	role := os.Getenv(subjectEnv)
	if role == "" {
		t.Skip("runs as the subject of TestConformanceOfProcesses")
	}
	var out sync.Mutex
	say := func(line string) {
		out.Lock()
		defer out.Unlock()
		fmt.Println("> " + line)
	}
	go func() { // the parent holds the other end of standard input: when the parent ends, this process ends too
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if role == "server" {
		l := listen(t)
		say(l.Addr().String())
		serve(l, say)
	}
	var row int
	var addr, nobody string
	if _, err := fmt.Sscanf(role, "client %d %s %s", &row, &addr, &nobody); err != nil {
		t.Fatal(err)
	}
	say("started")
	behaviours[row].client(realScene(addr, nobody, time.Now(), say))
}

// subject is a separate process.
type subject struct {
	cmd   *exec.Cmd
	first chan string
	done  chan struct{}
	stdin io.Closer
}

func startSubject(t *testing.T, role string, into *notes) *subject {
	t.Helper()
	s := &subject{cmd: exec.Command(os.Args[0], "-test.run=^TestConformanceSubject$"), first: make(chan string, 1), done: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), subjectEnv+"="+role)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		in := bufio.NewScanner(stdout)
		for said := false; in.Scan(); {
			line, ours := strings.CutPrefix(in.Text(), "> ")
			switch {
			case !ours: // output of package testing
			case !said:
				s.first <- line
				said = true
			default:
				into.add(line)
			}
		}
		s.cmd.Wait()
	}()
	return s
}

// say waits for the first line that the subject prints.
func (s *subject) say(t *testing.T) string {
	t.Helper()
	select {
	case line := <-s.first:
		return line
	case <-time.After(30 * time.Second):
		s.end()
		t.Fatal("the subject does not start")
		return ""
	}
}

func (s *subject) signal(t *testing.T, sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Errorf("%v: %v", sig, err)
	}
}

func (s *subject) end() {
	s.cmd.Process.Kill()
	s.stdin.Close()
	<-s.done
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve runs the server of the table on real connections.
func serve(l net.Listener, note func(string)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			in := bufio.NewScanner(c)
			for in.Scan() {
				note(in.Text())
				answer, after, reset := command(in.Text())
				if answer == "" {
					continue
				}
				time.AfterFunc(after, func() {
					io.WriteString(c, answer)
					if reset {
						time.Sleep(50 * ms) // otherwise the reset overtakes the bytes: with linger zero, unacknowledged data is dropped
						c.(*net.TCPConn).SetLinger(0)
						c.Close()
					}
				})
			}
			note("closed")
			c.Close()
		}()
	}
}

// proxy is the network between client and server: while it is cut, nothing passes, and connections stay open.
type proxy struct {
	to   string
	mu   sync.Mutex
	flow *sync.Cond
	held bool
	over bool
}

func (p *proxy) cut(held bool) {
	p.mu.Lock()
	p.held = held
	p.mu.Unlock()
	p.flow.Broadcast()
}

func (p *proxy) shut() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.flow.Broadcast()
}

func (p *proxy) run(l net.Listener) {
	for {
		front, err := l.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp", p.to)
		if err != nil {
			front.Close()
			continue
		}
		go p.pass(back, front)
		go p.pass(front, back)
	}
}

// pass copies one direction, including its end.
func (p *proxy) pass(to, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.held && !p.over {
			p.flow.Wait()
		}
		p.mu.Unlock()
		if n > 0 {
			to.Write(buf[:n])
		}
		if err != nil {
			to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}
