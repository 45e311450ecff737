package live

import (
	"encoding/json"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/nodes/packagetime"
	"lockstep/sim/history"
)

// Host is the [Cluster] as a client process sees it: the host of a worker. It is a connection to the process that keeps the
// history. Each method except those for clocks, Steady and Until sends a request to that process and waits for the answer. So a
// fault that is due after one step happens before the next: the client is stopped or killed while it waits.
//
// The clocks of a client process are those of the machine, corrected by the faults of the run; its network is the machine's. In a
// program that was made by [packagetime.Build] they are those of package time, which the faults set. When the process at the
// other end ends, so does this one.
type Host struct {
	start  time.Time // of the run
	clocks *hostClocks

	mu      sync.Mutex // guards the fields below, and writing
	out     *json.Encoder
	asked   int
	waiting map[int]chan answer
}

// Contact is where a client process finds the process that started it.
type Contact struct {
	Addr string `json:"addr"` // on the loopback interface
	Key  string `json:"key"`  // a secret between the two processes
}

// question is a request of a client process. Exactly one field is set, and ID.
type question struct {
	ID     int            `json:"id"`
	Hello  *hello         `json:"hello,omitempty"` // the first question; answered when the lane begins
	Record *history.Event `json:"record,omitempty"`
	Doing  *doing         `json:"doing,omitempty"`
	Lease  bool           `json:"lease,omitempty"`
	Pause  time.Duration  `json:"pause,omitempty"`
	End    bool           `json:"end,omitempty"`  // the lane has ended
	Bite   []int          `json:"bite,omitempty"` // faults of its clocks that have had an effect
	Late   *lateness      `json:"late,omitempty"`
	Set    int            `json:"set,omitempty"` // its clocks are set (setClocks.Nr); has no answer
}

type hello struct {
	Key string `json:"key"`
	PID int    `json:"pid"`
}

type doing struct {
	Op   string `json:"op"`
	ID   int    `json:"id"`
	Lock string `json:"lock,omitempty"`
}

// answer is the reply to a question, or, with the ID 0, something that the process is told unasked.
type answer struct {
	ID     int        `json:"id"`
	Lease  string     `json:"lease,omitempty"`
	Start  int64      `json:"start,omitempty"` // when the run began, in nanoseconds since 1970
	Clocks *setClocks `json:"clocks,omitempty"`
}

// Join makes this process the client that it was started to be. It returns when the client's lane begins.
//
// A worker has one processor, which suits simulated worlds; a client gets as many as it would have in production. That matters
// after a pause: with one processor, Go fires overdue timers before it reads what has arrived; with two it mostly reads first. In
// 20 reads there were 18 to 20 timeouts with one processor, and 3 to 8 with two. The reason is a race: a timed epoll_wait ends
// with EINTR after SIGCONT, and the monitor thread may or may not poll before the timers are checked.
func Join(c Contact) (*Host, error) {
	conn, err := net.Dial("tcp", c.Addr)
	if err != nil {
		return nil, err
	}
	runtime.SetDefaultGOMAXPROCS()
	h := &Host{out: json.NewEncoder(conn), waiting: map[int]chan answer{}}
	h.clocks = newHostClocks(func(faults []int) { h.ask(question{Bite: faults}) })
	go h.listen(conn)
	a := h.ask(question{Hello: &hello{c.Key, os.Getpid()}})
	// Both processes read the same clock, the wall clock of the machine. From here on the monotonic one counts.
	now := time.Now()
	h.start = now.Add(-time.Duration(now.UnixNano() - a.Start))
	h.clocks.begin(h.start, packagetime.Machine()-(now.UnixNano()-a.Start))
	if a.Clocks != nil {
		h.clocks.set(*a.Clocks)
	}
	go h.watchForStalls()
	return h, nil
}

func (h *Host) listen(conn net.Conn) {
	dec := json.NewDecoder(conn)
	for {
		var a answer
		if dec.Decode(&a) != nil {
			os.Exit(1) // there is no run that this lane could be part of
		}
		if a.ID == 0 {
			h.clocks.set(*a.Clocks)
			h.mu.Lock()
			h.out.Encode(question{Set: a.Clocks.Nr})
			h.mu.Unlock()
			continue
		}
		h.mu.Lock()
		waits := h.waiting[a.ID]
		delete(h.waiting, a.ID)
		h.mu.Unlock()
		waits <- a
	}
}

func (h *Host) ask(q question) answer {
	if len(q.Bite) == 0 {
		h.clocks.report()
	}
	waits := make(chan answer, 1)
	h.mu.Lock()
	h.asked++
	q.ID = h.asked
	h.waiting[q.ID] = waits
	h.out.Encode(q) // if it cannot be written, listen ends the process
	h.mu.Unlock()
	return <-waits
}

// Record enters an event of this client into the history, with the time of this moment. A fault that was planned to
// follow it at once has been injected when Record returns.
func (h *Host) Record(e history.Event) { h.ask(question{Record: &e}) }

// Doing sets the operation that the client is carrying out, on the lock with a name.
func (h *Host) Doing(op string, id int, lock string) { h.ask(question{Doing: &doing{op, id, lock}}) }

// Lease returns the name of the lease that the client asked for last in the operation in progress.
func (h *Host) Lease() string { return h.ask(question{Lease: true}).Lease }

// Pause stops this process for a duration.
func (h *Host) Pause(d time.Duration) { h.ask(question{Pause: d}) }

// End reports the end of the lane. The run does not wait for what the process does after that.
func (h *Host) End() { h.ask(question{End: true}) }

// Clock is the steady clock of the process, for the code under test: it drifts but never jumps, as do its timers.
func (h *Host) Clock() clockwork.Clock {
	if packagetime.Own() {
		return clockwork.NewRealClock()
	}
	return steadyClock{h.clocks}
}

// Wall is the wall clock: it drifts, jumps and slews.
func (h *Host) Wall() clockwork.Clock {
	if packagetime.Own() {
		return packagetime.Wall()
	}
	return wallClock{steadyClock{h.clocks}}
}

// Steady is what the steady clock shows, since the start of the run.
func (h *Host) Steady() time.Duration { return h.clocks.steady() }

// Until waits until time t of the run.
func (h *Host) Until(t time.Duration) {
	for left := t - h.clocks.passed(); left > 0; left = t - h.clocks.passed() {
		time.Sleep(h.clocks.takes(left))
	}
}
