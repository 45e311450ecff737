package nodes

import (
	"encoding/json"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"lockstep/sim"
)

// Host is what a client process has of the [Cluster] that it belongs to: the host of a worker. It is a connection to the
// process that keeps the history. All but Steady and Until asks something there and waits for the answer, so that whatever
// is to happen to the client at one of its steps, happens before the next: it is stopped, or killed, while it waits.
//
// The clocks of a client process are those of the machine, and its network is the machine's. When the process at the other
// end is gone, so is this one.
type Host struct {
	start time.Time // of the run

	mu      sync.Mutex // guards all below, and writing
	out     *json.Encoder
	asked   int
	waiting map[int]chan answer
}

// Contact is where a client process finds the process that started it.
type Contact struct {
	Addr string `json:"addr"` // on loopback
	Key  string `json:"key"`  // which nobody else on the machine knows
}

// question is what a client process asks. Exactly one field is set but for ID.
type question struct {
	ID     int           `json:"id"`
	Hello  *hello        `json:"hello,omitempty"` // the first of all; answered when the lane begins
	Record *sim.Event    `json:"record,omitempty"`
	Doing  *doing        `json:"doing,omitempty"`
	Lease  bool          `json:"lease,omitempty"`
	Pause  time.Duration `json:"pause,omitempty"`
	End    bool          `json:"end,omitempty"` // of the lane
}

type hello struct {
	Key string `json:"key"`
	PID int    `json:"pid"`
}

type doing struct {
	Op string `json:"op"`
	ID int    `json:"id"`
}

// answer is what it gets.
type answer struct {
	ID    int    `json:"id"`
	Lease string `json:"lease,omitempty"`
	Start int64  `json:"start,omitempty"` // of the run, in nanoseconds since 1970
}

// Join makes this process the client that it was started to be. It returns when the client's lane begins.
//
// A worker has one processor, which suits simulated worlds; a client gets as many as it would have in production. That shows
// after a pause: with one, Go fires what is overdue before it reads what has arrived; with two it mostly reads first (18 to 20
// timeouts in 20 reads, and 3 to 8; a timed epoll_wait ends with EINTR after SIGCONT, and whether the monitor thread polls
// before the timers are looked at is a race).
func Join(c Contact) (*Host, error) {
	conn, err := net.Dial("tcp", c.Addr)
	if err != nil {
		return nil, err
	}
	runtime.SetDefaultGOMAXPROCS()
	h := &Host{out: json.NewEncoder(conn), waiting: map[int]chan answer{}}
	go h.listen(conn)
	a := h.ask(question{Hello: &hello{c.Key, os.Getpid()}})
	// Both processes read one clock, the machine's on the wall. From here on the steady one counts.
	now := time.Now()
	h.start = now.Add(-time.Duration(now.UnixNano() - a.Start))
	return h, nil
}

func (h *Host) listen(conn net.Conn) {
	dec := json.NewDecoder(conn)
	for {
		var a answer
		if dec.Decode(&a) != nil {
			os.Exit(1) // nobody is there whom the lane could matter to
		}
		h.mu.Lock()
		waits := h.waiting[a.ID]
		delete(h.waiting, a.ID)
		h.mu.Unlock()
		waits <- a
	}
}

func (h *Host) ask(q question) answer {
	waits := make(chan answer, 1)
	h.mu.Lock()
	h.asked++
	q.ID = h.asked
	h.waiting[q.ID] = waits
	h.out.Encode(q) // if it cannot be written, listen ends the process
	h.mu.Unlock()
	return <-waits
}

// Record enters an event of this client into the history, with the time of this moment. A fault that was to come right
// after it has come when Record returns.
func (h *Host) Record(e sim.Event) { h.ask(question{Record: &e}) }

// Doing says what the client does from now on.
func (h *Host) Doing(op string, id int) { h.ask(question{Doing: &doing{op, id}}) }

// Lease is the name of the lease that the client asked for last in the operation in progress.
func (h *Host) Lease() string { return h.ask(question{Lease: true}).Lease }

// Pause has this process stopped for so long.
func (h *Host) Pause(d time.Duration) { h.ask(question{Pause: d}) }

// End says that the lane is over. What the process does beyond that, the run does not wait for.
func (h *Host) End() { h.ask(question{End: true}) }

// Steady is the time since the start of the run.
func (h *Host) Steady() time.Duration { return time.Since(h.start) }

// Until waits until a time of the run.
func (h *Host) Until(t time.Duration) { time.Sleep(t - h.Steady()) }
