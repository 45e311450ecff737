package live

import (
	"encoding/json"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/sim/history"
)

// Host is the [Cluster] as a client process sees it: the host of a worker. It is a connection to the process that keeps
// the history. Each method except those for clocks, Steady and Until sends a request to that process and waits for the
// answer. So what must happen to the client at one step happens before the next: the client is stopped or killed while
// it waits.
//
// The clocks of a client process are those of the machine, and wrong by what the faults of the run say; its network is the
// machine's. When the process at the other end is gone, so is this one.
type Host struct {
	start  time.Time // of the run
	clocks *hostClocks

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
	ID     int            `json:"id"`
	Hello  *hello         `json:"hello,omitempty"` // the first of all; answered when the lane begins
	Record *history.Event `json:"record,omitempty"`
	Doing  *doing         `json:"doing,omitempty"`
	Lease  bool           `json:"lease,omitempty"`
	Pause  time.Duration  `json:"pause,omitempty"`
	End    bool           `json:"end,omitempty"`  // of the lane
	Bite   []int          `json:"bite,omitempty"` // faults of its clocks that it has met
	Late   *lateness      `json:"late,omitempty"`
	Set    int            `json:"set,omitempty"` // its clocks are set (setClocks.Nr); not answered
}

type hello struct {
	Key string `json:"key"`
	PID int    `json:"pid"`
}

type doing struct {
	Op string `json:"op"`
	ID int    `json:"id"`
}

// answer is what it gets, or, with the ID 0, is told unasked.
type answer struct {
	ID     int        `json:"id"`
	Lease  string     `json:"lease,omitempty"`
	Start  int64      `json:"start,omitempty"` // of the run, in nanoseconds since 1970
	Clocks *setClocks `json:"clocks,omitempty"`
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
	h.clocks = newHostClocks(func(faults []int) { h.ask(question{Bite: faults}) })
	go h.listen(conn)
	a := h.ask(question{Hello: &hello{c.Key, os.Getpid()}})
	// Both processes read one clock, the machine's on the wall. From here on the steady one counts.
	now := time.Now()
	h.start = now.Add(-time.Duration(now.UnixNano() - a.Start))
	h.clocks.begin(h.start)
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
			os.Exit(1) // nobody is there whom the lane could matter to
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

// Doing says what the client does from now on.
func (h *Host) Doing(op string, id int) { h.ask(question{Doing: &doing{op, id}}) }

// Lease is the name of the lease that the client asked for last in the operation in progress.
func (h *Host) Lease() string { return h.ask(question{Lease: true}).Lease }

// Pause stops this process for a duration.
func (h *Host) Pause(d time.Duration) { h.ask(question{Pause: d}) }

// End says that the lane is over. What the process does beyond that, the run does not wait for.
func (h *Host) End() { h.ask(question{End: true}) }

// Clock is the steady clock of the process, for the code under test: it drifts but never jumps, as do its timers.
func (h *Host) Clock() clockwork.Clock { return steadyClock{h.clocks} }

// Wall is the wall clock: it drifts, jumps and slews.
func (h *Host) Wall() clockwork.Clock { return wallClock{steadyClock{h.clocks}} }

// Steady is what the steady clock shows, since the start of the run.
func (h *Host) Steady() time.Duration { return h.clocks.steady() }

// Until waits until a time of the run.
func (h *Host) Until(t time.Duration) { time.Sleep(t - time.Since(h.start)) }
