package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/nodes/redisserver"
)

// A run on a user's server repeats no password, and leaves no keys, even if it is interrupted.
func TestOwnServer(t *testing.T) {
	if err := redisserver.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	const secret = "s3cret-of-mine"
	s, err := redisserver.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	open := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer open.Close()
	if err := open.ConfigSet(t.Context(), "requirepass", secret).Err(); err != nil {
		t.Fatal(err)
	}
	mine := redis.NewClient(&redis.Options{Addr: s.Addr(), Password: secret})
	defer mine.Close()
	if err := mine.Set(t.Context(), "lock", "mine", 0).Err(); err != nil {
		t.Fatal(err)
	}
	program := func(password string, args ...string) (c *exec.Cmd, said *bytes.Buffer) {
		c = exec.Command(os.Args[0], append([]string{"run", "pause-after-acquire/single", "--on", "redis://" + s.Addr()}, args...)...)
		c.Env = append(c.Environ(), asProgram+"=1", passwordEnv+"="+password)
		said = &bytes.Buffer{}
		c.Stdout, c.Stderr = said, said
		return c, said
	}
	check := func(c *exec.Cmd, said *bytes.Buffer, status int, want string) {
		t.Helper()
		if got := c.ProcessState.ExitCode(); got != status || !strings.Contains(said.String(), want) || strings.Contains(said.String(), secret) {
			t.Errorf("%v: status %d, want %d, and %q\n%s", c.Args[1:], got, status, want, said)
		}
		if keys := mine.Keys(t.Context(), "*").Val(); len(keys) != 1 || mine.Get(t.Context(), "lock").Val() != "mine" {
			t.Errorf("%v: the keys are %q", c.Args[1:], keys)
		}
	}

	c, said := program(secret, "--speed", "20", "-v")
	c.Run()
	check(c, said, exitExpected, "on redis://"+s.Addr())
	c, said = program("an0ther")
	c.Run()
	check(c, said, exitInput, "lockstep: redis://"+s.Addr()+": AUTH: WRONGPASS")

	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be interrupted on this system")
	}
	c, said = program(secret, "--speed", "1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(mine.Keys(t.Context(), "lockstep:*").Val()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.Process.Kill()
			c.Wait()
			t.Fatalf("the run has no keys\n%s", said)
		}
	}
	c.Process.Signal(os.Interrupt)
	c.Wait()
	check(c, said, exitInput, "lockstep: interrupted")
}
