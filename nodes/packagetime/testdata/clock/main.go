// This program sets its own clocks, and prints what package time shows.
package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"lockstep/nodes/packagetime"
	"lockstep/sim/history"
)

// measure prints how many milliseconds of the machine's clock pass while f runs.
func measure(what string, f func()) {
	start := packagetime.Machine()
	f()
	fmt.Printf("%s %d\n", what, packagetime.Since(start).Milliseconds())
}

func main() {
	if !packagetime.Own() {
		panic("this program was not built with another package time")
	}
	start := packagetime.Machine()
	before, steady := time.Now(), time.Now()
	reads := packagetime.ReadSoFar()
	packagetime.Set(history.Clock{Ahead: -20 * time.Second}, start)
	fmt.Println("set back", time.Now().Round(0).Sub(before.Round(0)).Round(100*time.Millisecond), time.Since(steady).Round(100*time.Millisecond))
	fmt.Println("reads", packagetime.ReadSoFar().Wall-reads.Wall)
	measure("timer", func() { <-time.NewTimer(200 * time.Millisecond).C })

	packagetime.Set(history.Clock{PPM: 1_000_000}, start) // twice as fast
	measure("sleep", func() { time.Sleep(400 * time.Millisecond) })
	measure("after", func() { <-time.After(400 * time.Millisecond) })
	measure("func", func() {
		done := make(chan bool)
		time.AfterFunc(400*time.Millisecond, func() { close(done) })
		<-done
	})
	measure("tick", func() {
		t := time.NewTicker(100 * time.Millisecond)
		for range 4 {
			<-t.C
		}
		t.Stop()
	})
	measure("context", func() {
		ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
		defer cancel()
		<-ctx.Done()
	})
	measure("deadline", func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		defer l.Close()
		l.(*net.TCPListener).SetDeadline(time.Now().Add(400 * time.Millisecond))
		l.Accept()
	})
	from := time.Now()
	measure("machine", func() {
		for end := packagetime.Machine() + 200e6; packagetime.Machine() < end; {
		}
	})
	fmt.Println("since", time.Since(from).Round(20*time.Millisecond), time.Now().Round(0).Sub(from.Round(0)).Round(20*time.Millisecond))

	packagetime.Set(history.Clock{Since: 0, Set: packagetime.Since(start), Slew: -100 * time.Millisecond, Over: 200 * time.Millisecond}, start)
	from = time.Now()
	for end := packagetime.Machine() + 300e6; packagetime.Machine() < end; {
	}
	fmt.Println("slew", time.Since(from).Round(20*time.Millisecond), time.Now().Round(0).Sub(from.Round(0)).Round(20*time.Millisecond))
}
