//go:build wasip1

// A toy program for guests: what it does is in its first argument.
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"lockstep/sim/wasm"
)

func say(format string, args ...any) { wasm.Ask(fmt.Appendf(nil, format, args...)) }

func main() {
	switch os.Args[1] {
	case "time":
		keepTime()
	case "draw":
		if os.Args[2] == "anew" {
			wasm.Restart([4]uint64{1, 2, 3, 4})
		}
		say("%s", draws())
	case "echo":
		echo(os.Args[2])
	case "sleep":
		time.Sleep(time.Second)
	case "wait":
		wait(os.Args[2])
	case "panic":
		go func() { panic("boom") }()
		time.Sleep(time.Second)
	case "deadlock":
		<-make(chan int)
	case "spin":
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
		}
	case "refuse":
		fmt.Fprintln(os.Stderr, "no such lock")
		os.Exit(3)
	case "exit":
		os.Exit(7)
	case "print":
		line := strings.Repeat("x", 1<<20)
		for range 300 {
			fmt.Println(line)
		}
		os.Exit(1)
	case "grow":
		var all [][]byte
		for {
			b := make([]byte, 64<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
	}
}

// keepTime uses what package time has, and draws from what cannot be seeded elsewhere.
func keepTime() {
	start, wall := time.Now(), time.Now().Round(0)
	told := func(what string) {
		say("%s: %v after the start, by the date %v", what, time.Since(start), time.Now().Round(0).Sub(wall))
	}
	func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		<-ctx.Done()
		told("WithTimeout")
	}()
	done := make(chan bool)
	time.AfterFunc(time.Second, func() { done <- true })
	<-done
	told("AfterFunc")
	ticker := time.NewTicker(time.Second)
	for range 3 {
		<-ticker.C
		told("Ticker")
	}
	say("%s", draws())
}

// draws are draws of each kind that a program makes.
func draws() string {
	a, b := make(chan int, 100), make(chan int, 100)
	for i := range 100 {
		a <- i
		b <- i
	}
	var took strings.Builder
	for range 100 {
		select { // both are ready
		case <-a:
			took.WriteByte('a')
		case <-b:
			took.WriteByte('b')
		}
	}
	letters := map[rune]bool{}
	for r := 'a'; r <= 'z'; r++ {
		letters[r] = true
	}
	for r := range letters {
		took.WriteRune(r)
	}
	return fmt.Sprintf("%s %d", took.String(), rand.IntN(1_000_000))
}

func echo(addr string) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	c, err := wasm.Dial(ctx, "tcp", addr)
	if err != nil {
		say("%v", err)
		return
	}
	defer c.Close()
	for i := range 3 {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		fmt.Fprintf(c, "hello %d", i)
		b := make([]byte, 7)
		_, err := io.ReadFull(c, b)
		say("%q %v", b, err)
	}
}

// wait reads from three connections at 0.5s, with a deadline of 50ms.
func wait(addr string) {
	start := time.Now()
	var all [3]net.Conn
	for i := range all {
		c, err := wasm.Dial(context.Background(), "tcp", addr)
		if err != nil {
			panic(err)
		}
		all[i] = c
	}
	time.Sleep(time.Until(start.Add(499 * time.Millisecond)))
	var wg sync.WaitGroup
	for i, c := range all {
		fmt.Fprintf(c, "%d", i)
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		wg.Go(func() {
			b := make([]byte, 1)
			_, err := io.ReadFull(c, b)
			say("%d %q %v", i, b, err)
		})
	}
	wg.Wait()
}
