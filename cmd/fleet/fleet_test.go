//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"lockstep/cmd/fleet/queue"
)

const limit = time.Minute

func TestFleetIsLikeOneProcess(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	worker := b.fleet("work", "--queue", r.url(), "--workers", "4")
	command := []string{"explore", "--lock", "redlock", "--jobs", "300"}
	out := filepath.Join(b.dir, "out")
	p := b.fleet(append(command, "--queue", r.url(), "--shards=20", "--out", out)...)
	stdout, stderr, code := b.wait(p, limit)
	if want := b.alone(command...); stdout != want || code != 1 {
		t.Errorf("exit status %d, %d bytes, want those of one process, %d bytes\n%s", code, len(stdout), len(want), stderr)
	}
	// Each way to fail is told once, when the first shard has found it, and with nothing that would change the terminal.
	if told := regexp.MustCompile(`(?m)^lockstep: shard \d+ found: way .*\d$`).FindAllString(stderr, -1); len(told) != 3 || strings.Contains(stderr, "\x1b[31m") {
		t.Errorf("of what shards have found, this was told: %q", told)
	}
	if dirs, _ := filepath.Glob(filepath.Join(out, "shard-*")); len(dirs) != 20 {
		t.Errorf("--out has %d shards", len(dirs))
	}

	// The same again costs nothing, and needs no worker.
	worker.Process.Signal(syscall.SIGTERM)
	if _, stderr, code := b.wait(worker, limit); code != 0 {
		t.Errorf("a worker that is asked to end has exit status %d\n%s", code, stderr)
	}
	again, stderr, code := b.wait(b.fleet(append([]string{"--queue", r.url(), "--shards", "20"}, command...)...), limit)
	if again != stdout || code != 1 || !strings.Contains(stderr, "is complete already") {
		t.Errorf("again: exit status %d\n%s", code, stderr)
	}
	// A directory with all shards is given back to a queue that has lost them.
	r.client().FlushAll(t.Context())
	again, stderr, code = b.wait(b.fleet(append(command, "--queue", r.url(), "--shards=20", "--out", out)...), limit)
	if again != stdout || code != 1 {
		t.Errorf("from a directory: exit status %d\n%s", code, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "lockstep-*-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFleetGoesOnAfterCtrlC(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	b.fleet("work", "--queue", r.url(), "--workers", "2")
	command := []string{"explore", "--sleep", "200ms", "--queue", r.url(), "--shards", "20"}
	p := b.fleet(command...)
	b.until(p, "is submitted", limit)
	time.Sleep(1500 * time.Millisecond)
	p.Process.Signal(os.Interrupt)
	stdout, stderr, code := b.wait(p, 10*time.Second)
	if stdout != "" || code != exitInput || !strings.Contains(stderr, "Run the same command to continue") {
		t.Errorf("interrupted: exit status %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = b.wait(b.fleet(command...), limit)
	if want := b.alone("explore"); stdout != want || code != 1 || !strings.Contains(stderr, "goes on: ") {
		t.Errorf("again: exit status %d\n%s", code, stderr)
	}
}

func TestTwoSubmittersShareASearch(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	worker := b.fleet("work", "--queue", r.url(), "--workers", "4")
	command := []string{"--queue", r.url(), "--shards", "20", "explore"}
	first := b.fleet(append(command, "--sleep", "100ms")...)
	b.until(first, "is submitted", limit)
	second := b.fleet(append(command, "--sleep=100ms")...)
	want := b.alone("explore")
	for _, p := range []*process{first, second} {
		if stdout, stderr, code := b.wait(p, limit); stdout != want || code != 1 {
			t.Errorf("exit status %d\n%s", code, stderr)
		}
	}
	// One shard was carried out by the first submitter, to see whether the command is understood.
	if n := strings.Count(worker.stderr.String(), ": done in"); n != 19 {
		t.Errorf("the workers carried out %d shards of 19:\n%s", n, worker.stderr.String())
	}
}

func TestWorkerOfAnotherBuild(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	other := newBench(t)
	other.env = []string{stubBuildEnv + "=sha256:ffffffffffffffffffffffffffff"}
	command := []string{"explore", "--queue", r.url(), "--shards", "10"}
	stranger := other.fleet("work", "--queue", r.url())
	other.until(stranger, "takes shards of build sha256:ffffffffffff ", limit)
	p := b.fleet(command...)
	b.until(p, "no worker has this build, sha256:000000000000; workers have sha256:ffffffffffff", limit)
	other.until(stranger, "needs build sha256:000000000000, and this worker has build sha256:ffffffffffff: it leaves that search to other workers", limit)
	b.fleet("work", "--queue", r.url())
	if stdout, stderr, code := b.wait(p, limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if strings.Contains(stranger.stderr.String(), "shard ") {
		t.Errorf("the worker of another build took a shard:\n%s", stranger.stderr.String())
	}
}

// A search that needs guests is left to workers whose machines can make them. Meanwhile the other workers play other searches.
func TestWorkerWithoutGuests(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	bare := newBench(t)
	bare.env = []string{stubGuestsEnv + "=1"}
	poor := bare.fleet("work", "--queue", r.url(), "--workers", "3")
	bare.until(poor, "takes shards of build", limit)
	p := b.fleet("explore", "--guests", "--queue", r.url(), "--shards", "10")
	bare.until(poor, " of 10 of search "+queue.Search{Build: stubBuild, Command: []string{"explore", "--guests"}, Of: 10}.ID()+
		": there is no go command; the worker leaves that search to other workers\n", limit)
	b.until(p, "no worker can play this search, because it needs WebAssembly: start a worker on a machine that has the go command and the source of Lockstep\n", limit)
	if stdout, stderr, code := b.wait(b.fleet("explore", "--queue", r.url(), "--shards", "5"), limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("another search: exit status %d\n%s", code, stderr)
	}
	rich := b.fleet("work", "--queue", r.url(), "--workers", "1")
	if stdout, stderr, code := b.wait(p, limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if text := poor.stderr.String(); strings.Count(text, "leaves that search") != 1 || strings.Count(text, ": done in") != 4 || strings.Contains(text, "failed") {
		t.Errorf("the worker that cannot make guests says:\n%s", text)
	}
	if text := rich.stderr.String(); strings.Count(text, ": done in") != 9 {
		t.Errorf("the worker that can make guests says:\n%s", text)
	}
	_, stderr, code := bare.wait(bare.fleet("explore", "--guests", "--queue", r.url(), "--shards", "7"), limit)
	if code != exitInput || stderr != "lockstep: there is no go command; this machine merges the shards of the search, so it needs the go command and the source of Lockstep, as the workers do\n" {
		t.Errorf("a submitter that cannot make guests: exit status %d\n%s", code, stderr)
	}
}

func TestFleetSetsShardsAside(t *testing.T) {
	t.Parallel()
	for what, wants := range map[string][]string{
		"--poison": {"shard 7 of 10 was set aside: failed 3 times: exit status 2", "panic: as ordered"},
		"--lie":    {"shard 7 of 10 was set aside: failed 3 times: ", "answers.jsonl is damaged: it must have the checksum"},
		"--huge":   {"shard 7 of 10 was set aside: too large: answers.jsonl is 257 MB; the limit is 256 MB (use a larger --shards)"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, r := newBench(t), startRedis(t)
			b.fleet("work", "--queue", r.url(), "--workers", "2")
			command := []string{"explore", what, "7", "--queue", r.url(), "--shards", "10"}
			for range 2 { // the second time it is tried again
				stdout, stderr, code := b.wait(b.fleet(command...), limit)
				if stdout != "" || code != exitInput {
					t.Errorf("exit status %d\n%s", code, stdout)
				}
				for _, want := range append(wants, "9 of 10 shards are done, and 1 are set aside") {
					if !strings.Contains(stderr, want) {
						t.Errorf("%q is missing in\n%s", want, stderr)
					}
				}
			}
			stdout, _, _ := b.wait(b.fleet("status", "--queue", r.url(), "--json"), limit)
			var all fleetStatus
			if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all.Searches) != 1 || len(all.Searches[0].Aside) != 1 {
				t.Fatalf("status: %v\n%s", err, stdout)
			}
			if a := all.Searches[0].Aside[0]; a.Shard != 7 || len(a.Output) > keptOutput || what == "--poison" && len(a.Output) != keptOutput {
				t.Errorf("set aside: shard %d, %d bytes of output", a.Shard, len(a.Output))
			}
		})
	}
}

// A shard that kills its worker is set aside after ten deaths. This takes as long as ten workers need to be found dead.
func TestFleetSetsMurderersAside(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	p := b.fleet("explore", "--murder", "2", "--queue", r.url(), "--shards", "3")
	deadline := time.After(4 * time.Minute)
	for deaths := 0; ; deaths++ {
		w := b.fleet("work", "--queue", r.url(), "--workers", "1")
		select {
		case <-w.ended:
			continue
		case <-p.ended:
		case <-deadline:
			t.Fatalf("after %d deaths there is no end:\n%s", deaths, p.stderr.String())
		}
		if deaths != 10 {
			t.Errorf("%d workers died", deaths)
		}
		break
	}
	_, stderr, code := b.wait(p, limit)
	if code != exitInput || !strings.Contains(stderr, "shard 2 of 3 was set aside: 10 workers died\n") {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
}

func TestMistakeIsFoundBeforeItIsSubmitted(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	_, stderr, code := b.wait(b.fleet("explore", "--lock", "nosuch", "--queue", r.url()), limit)
	if code != exitInput || stderr != "lockstep: --lock: there is no lock nosuch\n" {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if stdout, _, _ := b.wait(b.fleet("status", "--queue", r.url()), limit); !strings.HasPrefix(stdout, "no searches in redis://127.0.0.1") {
		t.Errorf("status: %s", stdout)
	}
}

// A worker that is asked to end gives its shards back at once, and kills the child, even one that does not want to end.
func TestWorkerGivesShardsBack(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	p := b.fleet("explore", "--sleep", "20s", "--stubborn", "--queue", r.url(), "--shards", "2")
	b.until(p, "is submitted", limit)
	w := b.fleet("work", "--queue", r.url(), "--workers", "2")
	status := func() (s searchStatus) {
		stdout, _, _ := b.wait(b.fleet("status", "--queue", r.url(), "--json"), limit)
		var all fleetStatus
		if json.Unmarshal([]byte(stdout), &all) != nil || len(all.Searches) != 1 {
			t.Fatalf("status:\n%s", stdout)
		}
		return all.Searches[0]
	}
	for status().UnderWay < 2 {
		time.Sleep(50 * time.Millisecond)
	}
	begin := time.Now()
	w.Process.Signal(syscall.SIGTERM)
	_, stderr, code := b.wait(w, 10*time.Second)
	if took := time.Since(begin); code != 0 || strings.Count(stderr, ": given back") != 2 || took > 8*time.Second {
		t.Errorf("after %v: exit status %d\n%s", took, code, stderr)
	}
	if s := status(); s.UnderWay != 0 || s.Waiting != 2 {
		t.Errorf("afterwards: %+v", s)
	}
	if out, _ := filepath.Glob(filepath.Join(b.dir, roomPattern+"*")); len(out) != 0 {
		t.Errorf("left behind: %v", out)
	}
}

// If a worker is killed, its children die with it, and others carry out its shards.
func TestChildrenDieWithTheirWorker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux can tie the life of a process to that of its parent")
	}
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	p := b.fleet("explore", "--sleep", "20s", "--queue", r.url(), "--shards", "2")
	b.until(p, "is submitted", limit)
	w := b.fleet("work", "--queue", r.url(), "--workers", "2")
	children := func() (n int) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if text, _ := os.ReadFile(file); strings.Contains(string(text), filepath.Join(b.dir, roomPattern)) {
				n++
			}
		}
		return n
	}
	wait := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(limit); children() != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("there are %d children, want %d", children(), want)
			}
		}
	}
	wait(2)
	w.Process.Kill()
	<-w.ended // its files are closed
	wait(0)
	// The next worker removes what the first one has left, and gets its shards when it is known to be dead.
	b.fleet("work", "--queue", r.url(), "--workers", "2")
	wait(2)
	if rooms, _ := filepath.Glob(filepath.Join(b.dir, roomPattern+"*", "lock")); len(rooms) != 1 {
		t.Errorf("there are rooms %v", rooms)
	}
}

// During an outage of the queue shards go on, even one that is so long that asynq gives up its leases.
func TestShardsGoOnDuringAnOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	w := b.fleet("work", "--queue", r.url(), "--workers", "2")
	p := b.fleet("explore", "--sleep", "60s", "--queue", r.url(), "--shards", "2")
	c := r.client()
	for deadline := time.Now().Add(limit); c.HLen(t.Context(), "lockstep:fleet:search:"+queue.Search{Build: stubBuild, Command: []string{"explore", "--sleep", "60s"}, Of: 2}.ID()+":claim").Val() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the worker takes no shards")
		}
	}
	r.kill()
	b.until(w, "shards under way continue, and the worker keeps trying", limit)
	time.Sleep(40 * time.Second)
	r.start()
	stdout, stderr, code := b.wait(p, 2*time.Minute)
	if want := b.alone("explore"); stdout != want || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if text := w.stderr.String(); strings.Count(text, ": done in") != 2 || strings.Contains(text, "given back") {
		t.Errorf("the shards were begun again:\n%s", text)
	}
}

// If the clocks of workers differ, asynq takes shards from workers that are alive. Here it sees leases that are long over. The shards
// are not carried out twice, and nothing is lost.
func TestWrongClocksAreHarmless(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	c := r.client()
	crew := []*process{b.fleet("work", "--queue", r.url(), "--workers", "3")}
	command := []string{"explore", "--sleep", "4s", "--queue", r.url(), "--shards", "6"}
	p := b.fleet(command...)
	lease := "asynq:{" + queue.QueueOf(stubBuild) + "}:lease"
	retry := "asynq:{" + queue.QueueOf(stubBuild) + "}:retry"
	for deadline := time.Now().Add(limit); c.ZCard(t.Context(), lease).Val() < 3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the workers take no shards")
		}
	}
	for _, task := range c.ZRange(t.Context(), lease, 0, -1).Val() {
		c.ZAdd(t.Context(), lease, redis.Z{Member: task, Score: 1})
	}
	crew = append(crew, b.fleet("work", "--queue", r.url(), "--workers", "1")) // it looks for such leases when it starts
	var moved bool
	for deadline := time.Now().Add(2 * time.Second); !moved && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		moved = c.ZCard(t.Context(), retry).Val() > 0
	}
	if !moved {
		t.Error("asynq has taken no shard from the first worker")
	}
	stdout, stderr, code := b.wait(p, limit)
	if want := b.alone("explore"); stdout != want || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	for n := 1; n <= 6; n++ {
		done := 0
		for _, w := range crew {
			done += strings.Count(w.stderr.String(), fmt.Sprintf("shard %d of 6 of search", n))
		}
		if done > 1 {
			t.Errorf("shard %d was carried out %d times", n, done)
		}
	}
}

// openQueue opens the queue on a server, and closes it with the test.
func openQueue(t *testing.T, r *redisServer) *queue.Queue {
	t.Helper()
	server, err := queue.ParseServer(r.url(), "")
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

// A worker whose clock differs from the server's says by how much, and that this is harmless.
func TestWrongClockIsSaid(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]string{
		29 * time.Second:                      "",
		-29 * time.Second:                     "",
		2*time.Hour + 400*time.Millisecond:    "the clock of this machine is 2h0m0s ahead of that of the server; what a search finds does not depend on it",
		-(time.Minute + 400*time.Millisecond): "the clock of this machine is 1m0s behind that of the server; what a search finds does not depend on it",
	} {
		var said strings.Builder
		if (&worker{log: &said}).note(ahead); !strings.HasSuffix(strings.TrimSpace(said.String()), want) || want == "" && said.String() != "" {
			t.Errorf("ahead by %v: %q, want %q", ahead, &said, want)
		}
	}
	r := startRedis(t)
	q := openQueue(t, r)
	if ahead, err := q.Ahead(t.Context()); ahead.Abs() > 10*time.Second || err != nil {
		t.Errorf("on one machine the clocks differ by %v, %v", ahead, err)
	}
}

// What the server has lost by eviction, or what is damaged there, is done again.
func TestLostAndDamagedShards(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	c := r.client()
	w := b.fleet("work", "--queue", r.url())
	command := []string{"explore", "--queue", r.url(), "--shards", "5"}
	if _, stderr, code := b.wait(b.fleet(command...), limit); code != 1 {
		t.Fatal(stderr)
	}
	data := "lockstep:fleet:search:" + queue.Search{Build: stubBuild, Command: []string{"explore"}, Of: 5}.ID() + ":data:"
	c.Del(t.Context(), data+"2")
	c.Set(t.Context(), data+"3", "what?", time.Hour)
	c.Set(t.Context(), data+"4", c.Get(t.Context(), data+"5").Val(), time.Hour)
	stdout, stderr, code := b.wait(b.fleet(command...), limit)
	if stdout != b.alone("explore") || code != 1 || !strings.Contains(stderr, "the result of shard 3 is damaged in the queue; the shard is played again") ||
		!strings.Contains(stderr, "the result of shard 4 is damaged in the queue; the shard is played again") {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if text := w.stderr.String(); strings.Count(text, ": done in") != 4+3 {
		t.Errorf("the worker did:\n%s", text)
	}
}

// asynq may lose tasks in a way that does not show: their ids are taken, and no list has them. Their shards are done all the same.
func TestTasksInNoList(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	command := []string{"explore", "--queue", r.url(), "--shards", "5"}
	p := b.fleet(command...)
	b.until(p, "is submitted", limit)
	pending := "asynq:{" + queue.QueueOf(stubBuild) + "}:pending"
	for deadline := time.Now().Add(limit); r.client().LLen(t.Context(), pending).Val() < 4; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the shards are not offered")
		}
	}
	if n := r.client().Del(t.Context(), pending).Val(); n != 1 {
		t.Fatal("there was no list")
	}
	b.fleet("work", "--queue", r.url(), "--workers", "2")
	stdout, stderr, code := b.wait(p, limit)
	if stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	c := r.client()
	c.Set(t.Context(), "mine", 1, 0)
	c.Set(t.Context(), "lockstep:mine", 1, 0)
	p := b.fleet("explore", "--sleep", "1s", "--queue", r.url(), "--shards", "50")
	b.until(p, "no worker is alive", limit)
	stdout, _, _ := b.wait(b.fleet("status", "--queue", r.url()), limit)
	id, _, _ := strings.Cut(strings.TrimPrefix(stdout, "search "), ",")
	if !strings.Contains(stdout, "1 of 50 shards done, 0 under way, 49 waiting, 0 set aside") || !strings.Contains(stdout, "no workers are alive") {
		t.Errorf("status:\n%s", stdout)
	}
	if _, stderr, code := b.wait(b.fleet("forget", "nonsense", "--queue", r.url()), limit); code != exitInput || !strings.Contains(stderr, `there is no search "nonsense"`) {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if _, stderr, code := b.wait(b.fleet("forget", "--queue", r.url()), limit); code != exitInput || stderr != "lockstep: forget takes one ID, but got 0; lockstep fleet status shows the IDs\n" {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if stdout, stderr, code := b.wait(b.fleet("forget", id, "--queue", r.url()), limit); code != 0 || !strings.Contains(stdout, "is forgotten") {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if _, stderr, code := b.wait(p, 10*time.Second); code != exitInput || !strings.Contains(stderr, "was forgotten (lockstep fleet forget)") {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	keys, _ := c.Keys(t.Context(), "*").Result()
	for _, key := range keys {
		switch {
		case key == "mine", key == "lockstep:mine", key == "asynq:queues", strings.HasSuffix(key, ":forgotten"):
		default:
			t.Errorf("there is a key %s", key)
		}
	}
	if len(keys) != 4 {
		t.Errorf("keys: %v", keys)
	}
}

// A worker stops the shards of a search that was forgotten, and what it has done of them is not kept.
func TestForgetStopsShards(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	w := b.fleet("work", "--queue", r.url(), "--workers", "2")
	p := b.fleet("explore", "--sleep", "200s", "--queue", r.url(), "--shards", "2")
	s := queue.Search{Build: stubBuild, Command: []string{"explore", "--sleep", "200s"}, Of: 2}
	c := r.client()
	for deadline := time.Now().Add(limit); c.HLen(t.Context(), "lockstep:fleet:search:"+s.ID()+":claim").Val() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the worker takes no shards")
		}
	}
	if _, stderr, code := b.wait(b.fleet("forget", s.ID(), "--queue", r.url()), limit); code != 0 {
		t.Fatal(stderr)
	}
	b.wait(p, limit)
	for n := 1; n <= 2; n++ {
		b.until(w, fmt.Sprintf("shard %d of 2 of search %s: stopped, because the search was forgotten", n, s.ID()), limit)
	}

	// A shard that was done at the same moment.
	q := openQueue(t, r)
	if kept, err := q.Finish(t.Context(), s, 1, "w", []byte("packed")); kept || err != nil {
		t.Errorf("the shard is kept: %v, %v", kept, err)
	}
	if keys := c.Keys(t.Context(), "lockstep:fleet:search*").Val(); len(keys) != 1 || !strings.HasSuffix(keys[0], ":forgotten") {
		t.Errorf("left behind: %v", keys)
	}

	// The worker goes on.
	if stdout, stderr, code := b.wait(b.fleet("explore", "--queue", r.url(), "--shards", "5"), limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if text := w.stderr.String(); strings.Contains(text, "failed") || strings.Contains(text, "given back") {
		t.Errorf("the worker says:\n%s", text)
	}
}

func TestHelpFits(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{{}, {"explore"}, {"matrix"}, {"run"}, {"work"}, {"status"}, {"forget"}} {
		stdout, _, code := b.wait(b.fleet(append(args, "--help")...), limit)
		if code != 0 || !strings.Contains(stdout, "Examples:") {
			t.Errorf("%v: exit status %d\n%s", args, code, stdout)
		}
		for line := range strings.Lines(stdout) {
			if len(strings.TrimSuffix(line, "\n")) > 98 {
				t.Errorf("%v: more than 98 columns: %s", args, line)
			}
		}
	}
}

func TestFleetArguments(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.txtar")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.WriteFile("single", nil, 0o600); err != nil { // such as a program that was built here
		t.Fatal(err)
	}
	for _, c := range []struct{ args, left, err string }{
		{"--lock single", "--lock single", ""},
		{"--lock=single", "--lock=single", ""},
		{"--lock redlock,single --json", "--lock redlock,single --json", ""},
		{"--lock=redlock single", "", "is a file on this machine"},
		{"--lock redlock -- single", "", "is a file on this machine"},
		{"--json mine.txtar", "", "is a file on this machine"},
		{"--lock wasm:single", "", "is a file on this machine"},
		{"--lock redlock --queue X --bound 2 --shards 7 --out DIR --json", "--lock redlock --bound 2 --json", ""},
		{"--queue=X --lock=single scenario/run", "--lock=single scenario/run", ""},
		{"--lock single -- --queue", "--lock single -- --queue", ""},
		{"-v --shards=7", "-v", ""},
		{"--shard 1/2", "", "--shards says how many"},
		{"--workers=3", "", "lockstep fleet work --workers K"},
		{"--queue", "", "--queue: a value is missing"},
		{"--queue=", "", "--queue is empty"},
		{"--shards 0", "", "--shards \"0\": it must be a whole number from 1 to 10000"},
		{"--shards 7x", "", "--shards \"7x\": it must be"},
		{"--shards 10001", "", "it must be a whole number"},
		{file, "", "is a file on this machine"},
		{file + "/run", "", "is a file on this machine"},
		{"--lock=single,wasm:" + file, "", "is a file on this machine"},
	} {
		f := &fleetFlags{}
		left, _, err := f.take(strings.Fields(c.args))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.args, err, c.err)
		}
		if got := strings.Join(left, " "); err == nil && got != c.left {
			t.Errorf("%s: left is %q, want %q", c.args, got, c.left)
		}
	}
}

func TestProgressText(t *testing.T) {
	p := &progress{begin: 10}
	if got, want := p.text(time.Minute, 30, 8, 2, 100, 1), "  30 of 100 shards done after 1m0s, 8 under way, 60 waiting, 2 set aside, 1 worker, about 3m24s left"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// Nobody knows how far the last shards are.
	if got, want := p.text(time.Minute, 92, 8, 0, 100, 8), "  92 of 100 shards done after 1m0s, 8 under way, 0 waiting, 8 workers"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := p.text(0, 10, 0, 0, 20, 0), "  10 of 20 shards done after 0s, 0 under way, 10 waiting, 0 workers"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// The bar is left out where there is no room for it, and a line never fills the terminal.
func TestBar(t *testing.T) {
	const text = "  5 of 8 shards done"
	for width, want := range map[int]string{
		45: "  |████████████        |" + text,
		44: text,
		21: text,
		20: "  5 of 8 shards don",
		0:  "",
	} {
		if got := barred(text, 5, 8, width); got != want || utf8.RuneCountInString(got) >= max(width, 1) {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
	for done, full := range map[int]int{0: 0, 1: 0, 9_999: 19, 10_000: 20} {
		if got := strings.Count(barred(text, done, 10_000, 80), "█"); got != full {
			t.Errorf("%d of 10000: %d cells are full, not %d", done, got, full)
		}
	}
}

// Names in the queue come from other machines, and do not reach the terminal as they are.
func TestStatusShowsNoControls(t *testing.T) {
	const evil = "x\x1b[31m\u202ey"
	all := fleetStatus{
		Searches: []searchStatus{{Command: []string{"run", evil}, Build: evil, Aside: []asideStatus{{1, queue.Aside{Why: evil, Worker: evil, Output: evil}}}}},
		Workers:  []queue.Worker{{ID: evil, Host: evil, Build: evil, Slots: 1}},
	}
	var b strings.Builder
	all.print(&b)
	if text := b.String(); strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "x?[31m?y") != 8 || !strings.Contains(text, ", 1 shard at once") {
		t.Errorf("%q", text)
	}
}

func TestTail(t *testing.T) {
	out := &tail{}
	for i := range 3000 {
		fmt.Fprintf(out, "line %d\n", i)
	}
	if got := out.String(); len(got) != keptOutput || !strings.HasSuffix(got, "line 2998\nline 2999\n") {
		t.Errorf("%d bytes, ending with %q", len(got), lastLine(got))
	}
}
