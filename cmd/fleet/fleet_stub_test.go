//go:build unix

package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/scenarios/shards"
)

const (
	fleetName = "lockstep-fleet"
	stubName  = "lockstep"
	// stubBuildEnv names the build of the stub.
	stubBuildEnv = "LOCKSTEP_TEST_BUILD"
	// stubGuestsEnv says that the stub is on a machine that cannot make guests.
	stubGuestsEnv = "LOCKSTEP_TEST_NO_GUESTS"
	stubBuild     = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
)

// By its name this test binary is also the program of the fleet, and a stub of the program lockstep.
func TestMain(m *testing.M) {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case fleetName:
		os.Exit(run(os.Args[1:]))
	case stubName:
		os.Exit(stub(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// stub honours the contract of lockstep explore --shard and lockstep merge. Its jobs only wait.
func stub(args []string) int {
	switch args[0] {
	case "version":
		fmt.Printf(`[{"name":"lockstep","version":"(devel)"},{"name":"build","version":%q}]`+"\n", cmp.Or(os.Getenv(stubBuildEnv), stubBuild))
		return 0
	case "merge":
		return stubMerge(args[1:])
	}
	fl := flag.NewFlagSet("stub", flag.ContinueOnError)
	lock := fl.String("lock", "single", "")
	jobs := fl.Int("jobs", 500, "")
	sleep := fl.Duration("sleep", 0, "on average for each shard")
	poison := fl.Int("poison", 0, "the shard that fails")
	murder := fl.Int("murder", 0, "the shard that kills its worker")
	huge := fl.Int("huge", 0, "the shard with too many answers")
	lie := fl.Int("lie", 0, "the shard whose answers do not check")
	guests := fl.Bool("guests", false, "exit as a machine that cannot make guests")
	ignore := fl.Bool("stubborn", false, "ignore SIGTERM")
	shard := fl.String("shard", "", "")
	out := fl.String("out", "", "")
	fl.Int("workers", 0, "")
	if fl.Parse(args[1:]) != nil || *lock == "nosuch" {
		fmt.Fprintln(os.Stderr, "lockstep: --lock: there is no lock nosuch")
		return 3
	}
	if *ignore {
		signal.Ignore(syscall.SIGTERM)
	}
	if *shard == "" {
		return stubPrint(stubAnswers(*lock, *jobs, 1, 1))
	}
	var i, n int
	if _, err := fmt.Sscanf(*shard, "%d/%d", &i, &n); err != nil || i < 1 || i > n || *out == "" {
		fmt.Fprintln(os.Stderr, "lockstep: --shard and --out are wrong")
		return 3
	}
	// Between a half and one and a half of the time, always the same.
	seed := sha256.Sum256([]byte(*shard))
	time.Sleep(*sleep/2 + *sleep*time.Duration(seed[0])/256)
	if *guests && os.Getenv(stubGuestsEnv) != "" {
		fmt.Fprintln(os.Stderr, "lockstep: there is no go command")
		return shards.ExitElsewhere
	}
	switch i {
	case *poison:
		fmt.Println(strings.Repeat("a line of the output\n", 2000) + "panic: as ordered")
		return 2
	case *murder:
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	}
	answers := stubAnswers(*lock, *jobs, i, n)
	text := []byte(strings.Join(answers, ""))
	sum := sha256.Sum256(text)
	if i == *lie {
		text = append(text, text...)
	}
	if err := os.WriteFile(filepath.Join(*out, "answers.jsonl"), text, 0o666); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if i == *huge {
		os.Truncate(filepath.Join(*out, "answers.jsonl"), 257<<20)
	}
	manifest, _ := json.Marshal(map[string]any{"format": 2, "command": args, "build": cmp.Or(os.Getenv(stubBuildEnv), stubBuild),
		"shard": i, "of": n, "complete": true, "answers": len(answers), "sha256": "sha256:" + hex.EncodeToString(sum[:]),
		"found": []string{fmt.Sprintf("way \x1b[31m%d", i%3)}})
	if err := os.WriteFile(filepath.Join(*out, "shard.json"), manifest, 0o666); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// stubAnswers are the answers to the jobs of a shard.
func stubAnswers(lock string, jobs, shard, of int) (all []string) {
	for j := shard - 1; j < jobs; j += of {
		sum := sha256.Sum256(fmt.Append(nil, lock, j))
		all = append(all, fmt.Sprintf(`{"job":%06d,"answer":"%x"}`+"\n", j, sum[:8]))
	}
	return all
}

func stubPrint(answers []string) int {
	slices.Sort(answers)
	fmt.Printf("%d answers\n%s", len(answers), strings.Join(answers, ""))
	return 1
}

func stubMerge(dirs []string) int {
	var all []string
	seen := map[int]bool{}
	of := 0
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "shard.json"))
		var m struct{ Shard, Of int }
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "lockstep:", err)
			return 3
		}
		of = m.Of
		if seen[m.Shard] {
			continue
		}
		seen[m.Shard] = true
		answers, err := os.ReadFile(filepath.Join(dir, "answers.jsonl"))
		if err != nil {
			fmt.Fprintln(os.Stderr, "lockstep:", err)
			return 3
		}
		all = slices.AppendSeq(all, strings.Lines(string(answers)))
	}
	if len(seen) != of {
		fmt.Fprintf(os.Stderr, "lockstep: %d of %d shards are missing\n", of-len(seen), of)
		return 3
	}
	return stubPrint(all)
}

// A bench has the two programs in a directory, and starts them.
type bench struct {
	testing.TB
	dir string
	env []string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, dir: t.TempDir()}
	for _, name := range []string{fleetName, stubName} {
		to := filepath.Join(b.dir, name)
		if os.Link(own, to) == nil {
			continue
		}
		from, err := os.ReadFile(own)
		if err == nil {
			err = os.WriteFile(to, from, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// command is lockstep-fleet with arguments. It dies with the test.
func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.dir, fleetName), args...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+b.dir), b.env...)
	return cmd
}

// A process is a running program, whose output is collected.
type process struct {
	*exec.Cmd
	stdout, stderr lockedBuffer
	ended          chan struct{}
}

// lockedBuffer may be read while the process runs.
type lockedBuffer struct {
	tail // keeps enough
	all  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// start starts a process, which is killed at the end of the test.
func (b *bench) start(cmd *exec.Cmd) *process {
	b.Helper()
	p := &process{Cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = io.Writer(&p.stdout), io.Writer(&p.stderr)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() { cmd.Wait(); close(p.ended) }()
	b.Cleanup(func() { cmd.Process.Kill(); <-p.ended })
	return p
}

func (b *bench) fleet(args ...string) *process {
	b.Helper()
	return b.start(b.command(append([]string{"fleet"}, args...)...))
}

// wait returns what a process has printed, and its exit status.
func (b *bench) wait(p *process, limit time.Duration) (stdout, stderr string, code int) {
	b.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.Process.Signal(syscall.SIGQUIT)
		time.Sleep(time.Second)
		b.Fatalf("%v has not ended after %v:\n%s\n%s", p.Args, limit, p.stdout.String(), p.stderr.String())
	}
	return p.stdout.String(), p.stderr.String(), p.ProcessState.ExitCode()
}

// until waits until a process has printed some text.
func (b *bench) until(p *process, text string, limit time.Duration) {
	b.Helper()
	for deadline := time.Now().Add(limit); !strings.Contains(p.stderr.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%v does not print %q within %v:\n%s", p.Args, text, limit, p.stderr.String())
		}
	}
}

// alone is what one process prints for a command.
func (b *bench) alone(args ...string) string {
	b.Helper()
	out, err := exec.Command(filepath.Join(b.dir, stubName), args...).Output()
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 1 {
		b.Fatalf("the stub alone: %v", err)
	}
	return string(out)
}
