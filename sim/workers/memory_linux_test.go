package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	// This memory is unknown to the Go runtime.
	memoryJobs["hoard outside"] = func(string) (any, error) {
		const size = 780 * MB // the limit, its slack and a little: above much more, nobody waits for the worker's stacks
		b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return nil, err
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			for i := 0; i < len(b); i += 1024 {
				b[i]++
			}
		}
		return "nobody minded", nil
	}
	// tail keeps an incomplete line in memory.
	memoryJobs["hoard elsewhere"] = func(string) (any, error) {
		exec.Command("sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tail; sleep 1", ceiling)).Run()
		return "nobody minded", nil
	}
	// This process ends neither by itself nor with its parent.
	memoryJobs["spawn"] = func(how string) (any, error) {
		c := exec.Command("sh", "-c", "sleep 300 & sleep 300")
		c.Stderr = os.Stderr
		if how == "session" {
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		group, _ := syscall.Getpgid(c.Process.Pid)
		fmt.Fprintln(os.Stderr, "pid", group)
		switch how {
		case "panic":
			panicAfter(closed())
		case "wait":
			time.Sleep(time.Minute)
		}
		return "spawned", nil
	}
}

// Processes that a job has started end with its worker, however that ends, even if its supervisor is killed.
func TestOffspring(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"return":  "",
		"session": "",
		"panic":   "panic: connection pool is closed",
		"wait":    "the job did not end within 500ms",
	} {
		t.Run(how, func(t *testing.T) {
			var printed pids
			o := supervise(t, Supervisor{Output: &printed, Limit: 500 * time.Millisecond}, job("spawn", how))[0]
			if want == "" && o.Report != nil || want != "" && (o.Report == nil || !strings.HasPrefix(o.Report.Reason, want)) {
				t.Errorf("%s %v", o.Result, o.Report)
			}
			for _, pid := range printed.wait(t, 1) {
				nobodyIn(t, pid, 0)
			}
		})
	}
	t.Run("kill -9", func(t *testing.T) {
		var printed pids
		s := Supervisor{Command: startTest("TestWorkerProcess"), Output: &printed}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx, []json.RawMessage{job("supervise spawning")}, func(int, Outcome) {}) }()
		running := printed.wait(t, 1)
		cancel() // kills the supervisor in the middle
		<-ended
		for _, pid := range running {
			nobodyIn(t, pid, 3*time.Second)
		}
	})
}

// nobodyIn fails the test if any process in the group of a leader is still alive after some time.
func nobodyIn(t *testing.T, leader int, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, file := range stats {
			stat, _ := os.ReadFile(file)
			// After the name in parentheses come the state, the parent and the group; see proc_pid_stat(5).
			fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
			if len(fields) > 2 && fields[0] != "Z" && fields[2] == fmt.Sprint(leader) {
				left = append(left, string(stat))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			syscall.Kill(-leader, syscall.SIGKILL)
			t.Errorf("these live: %s", left)
			return
		}
	}
}
