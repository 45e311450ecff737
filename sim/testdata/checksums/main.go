// Command checksums prints the trace checksums of a few runs. TestWASM compares what it prints natively and under
// GOOS=js.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

type echo struct{ p *sim.Process }

func (e *echo) Open(*sim.Conn)   {}
func (e *echo) Closed(*sim.Conn) {}
func (e *echo) Receive(c *sim.Conn, data []byte) {
	e.p.Note(history.Event{Kind: history.State, Op: history.Set, Sent: c.Sent()})
	c.Write(data)
}
func (e *echo) Describe(data []byte, _ bool, _ func(string) string) string {
	return strings.TrimSpace(string(data))
}

// Faults that put every kind of arithmetic to work: drift, slew and pause move deadlines, links delay and hold.
var faults = []string{
	"drift c1 +123457ppm", "slew c2 +7ms over 31ms", "pause c3 21ms", "cut c1-n2", "drift n1 -333333ppm", "delay c2-n1 3ms",
	"heal", "hold n2->c3", "jump c1 -1s", "release n2->c3", "on request PING c1->n1 delay 4ms", "reset c2-n2", "crash n1",
	"drift c1 -98765ppm", "restart n1",
}

func main() {
	for seed := range uint64(5) {
		var sum string
		var events int
		if err := sim.Bubble(func() { sum, events = run(seed) }); err != nil {
			panic(err)
		}
		fmt.Println(seed, sum, events)
	}
}

func run(seed uint64) (string, int) {
	w := sim.NewWorld(sim.Config{Seed: seed})
	defer w.Close()
	var servers []*sim.Process
	for i := range 2 {
		e := &echo{}
		e.p = w.Serve(fmt.Sprint("n", i+1), e)
		servers = append(servers, e.p)
	}
	for i, line := range faults {
		f, err := history.ParseFault(line)
		if err != nil {
			panic(err)
		}
		w.At(time.Duration(i+1)*17*time.Millisecond, func() { w.Inject(f) })
	}
	for i := range 3 {
		p := w.Process(fmt.Sprint("c", i+1))
		random := sim.Rand(seed, "client", p.Name)
		p.Go(func(ctx context.Context) {
			for round := range 30 {
				p.Clock().Sleep(time.Duration(random.IntN(1e7)))
				var both sync.WaitGroup
				for i, s := range servers {
					both.Go(func() {
						err := ask(ctx, p, s)
						e := history.Event{Kind: history.Info, Op: history.Write, ID: round*2 + i + 1, Value: s.Name, Error: fmt.Sprint(err)}
						p.Record(e)
					})
				}
				both.Wait()
			}
		})
	}
	w.Run()
	return w.Checksum(), len(w.History().Events)
}

func ask(ctx context.Context, p, s *sim.Process) error {
	c, err := p.DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(25 * time.Millisecond))
	if _, err := io.WriteString(c, "PING "+p.Name+"\n"); err != nil {
		return err
	}
	_, err = bufio.NewReader(c).ReadString('\n')
	return err
}
