package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"lockstep/cmd/fleet/queue"
	"lockstep/scenarios/shards"
)

// A program is the program lockstep, which carries out the shards.
type program struct {
	path  string
	build string
}

const (
	versionLimit = 30 * time.Second
	// endDelay is how long a child may take to end after SIGTERM.
	endDelay = 3 * time.Second
)

// program finds lockstep, and asks it which build it is.
func (f *fleetFlags) program(ctx context.Context) (program, error) {
	path, err := f.path()
	if err != nil {
		return program{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version", "--json").Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok && len(e.Stderr) > 0 {
			err = errors.New(lastLine(string(e.Stderr)))
		}
		return program{}, fmt.Errorf("%s version --json: %w", path, err)
	}
	var parts []struct{ Name, Version string }
	if err := json.Unmarshal(out, &parts); err != nil {
		return program{}, fmt.Errorf("%s version --json does not print what lockstep prints: %w", path, err)
	}
	for _, part := range parts {
		if part.Name == "build" && part.Version != "" {
			return program{path, part.Version}, nil
		}
	}
	return program{}, fmt.Errorf("%s version --json does not name its build: a newer lockstep is needed", path)
}

func (f *fleetFlags) path() (string, error) {
	name := "lockstep"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if f.lockstep != "" {
		path, err := exec.LookPath(f.lockstep)
		if err != nil {
			return "", fmt.Errorf("--lockstep: %w", err)
		}
		return filepath.Abs(path)
	}
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("the program lockstep is neither beside this program nor on the PATH; name it with --lockstep PATH")
	}
	return filepath.Abs(path)
}

// errNotStarted says that the child could not be started. That is the fault of this machine, and not of the shard.
var errNotStarted = errors.New("the program lockstep cannot be started")

// errElsewhere says that the machine cannot play a shard, though perhaps another can; the last line of the output says why.
var errElsewhere = errors.New("the shard cannot be played on this machine")

// shard carries out a shard in a directory, and checks its files. What the child prints goes to output.
func (p program) shard(ctx context.Context, s queue.Search, shard int, dir string, output io.Writer) error {
	args := append([]string{}, s.Command...)
	args = insertFlags(args, "--workers", "1", "--shard", fmt.Sprintf("%d/%d", shard, s.Of), "--out", dir)
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = endDelay
	tether(cmd)
	done := make(chan error)
	go func() {
		// On Linux the child is killed when the thread that started it ends. So that thread does nothing but wait for the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			done <- fmt.Errorf("%w: %w", errNotStarted, err)
			return
		}
		err := cmd.Wait()
		killGroup(cmd.Process)
		done <- err
	}()
	err := <-done
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == shards.ExitElsewhere {
		return errElsewhere
	}
	if err != nil {
		return err
	}
	return queue.Check(dir, s, shard)
}

// insertFlags adds flags to a command, before the arguments that are no flags.
func insertFlags(args []string, flags ...string) []string {
	for i, arg := range args {
		if arg == "--" {
			return append(append(append([]string{}, args[:i]...), flags...), args[i:]...)
		}
	}
	return append(args, flags...)
}

// merge prints the result of a search, and ends with its status.
func (p program) merge(ctx context.Context, dirs []string, out, errs io.Writer) error {
	cmd := exec.CommandContext(ctx, p.path, append([]string{"merge"}, dirs...)...)
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Exited() {
		return status(e.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("%s merge: %w", p.path, err)
	}
	return nil
}

// keptOutput is how much of what a child prints is kept.
const keptOutput = 16 << 10

// tail keeps the last bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - keptOutput; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.kept), "\uFFFD")
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
