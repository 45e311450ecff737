package workers

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestBusiest: a thread that spins in the kernel counts as busy too.
func TestBusiest(t *testing.T) {
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	thread := make(chan int)
	var over atomic.Bool
	go func() {
		runtime.LockOSThread()
		thread <- syscall.Gettid()
		for buf := make([]byte, 1<<20); !over.Load(); {
			syscall.Read(int(zero.Fd()), buf)
		}
	}()
	defer over.Store(true)
	want, got := <-thread, 0
	for deadline := time.Now().Add(10 * time.Second); got != want; got = busiest(os.Getpid()) {
		if time.Now().After(deadline) {
			t.Fatalf("thread %d, want %d", got, want)
		}
		time.Sleep(200 * time.Millisecond) // the kernel counts in hundredths of a second
	}
}
