package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/clients/foreign/fromc"
)

// inC is a lock in C.
const inC = "../../clients/foreign/example/single.c"

// ofJSON decodes what lockstep run --json printed.
func ofJSON(t *testing.T, out string) (all []earlier) {
	t.Helper()
	for line := range strings.Lines(out) {
		var e earlier
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

// In each run of the lock "single" the example in C has the same verdict as that, and with the same seed the same trace: in one
// process, which compares every tenth run, and in two.
func TestLockInC(t *testing.T) {
	args := []string{"run", "--json", "--lock", clients.WasmPrefix + fromc.Compile(t, "single.wasm", inC)}
	if testing.Short() {
		args = append(args, "asked-while-held", "clock-offset", "crash-restart-scripts", "pause-after-acquire", "release-race", "slow-reply", "sweep-client-jump")
	}
	first, told, code := outputs(t, args...)
	runs := ofJSON(t, first)
	if code != exitExpected || len(runs) < 7 {
		t.Errorf("exit status %d after %d runs\n%s", code, len(runs), told)
	}
	for _, r := range runs {
		if r.Verdict != r.Expected || len(r.Differences) > 0 {
			t.Errorf("%s/%s: %s %q", r.Scenario, r.Run, r.Verdict, r.Differences)
		}
	}
	if again, _, _ := outputs(t, args...); again != first {
		t.Errorf("not the same again:\n%s\n%s", first, again)
	}
}

// Its clients are never guests of the kind that Go programs are, whatever a page or an option says.
func TestLockInCIsNoGuest(t *testing.T) {
	lock := clients.WasmPrefix + fromc.Compile(t, "single.wasm", inC)
	page := filepath.Join(t.TempDir(), "page.txtar")
	text := "# A page whose clients are guests.\n\nclient c1\n  acquire\n  release\n\n-- single nodes=1 guests=yes --\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, told, code := outputs(t, "run", "--json", "--guests", "always", "--lock", lock, page+"/single")
	if runs := ofJSON(t, out); code != exitExpected || len(runs) != 1 || runs[0].Guests {
		t.Errorf("exit status %d: %s%s", code, out, told)
	}
}

// The same source compiled with a broken release: the run for such releases finds the mistake, and says why.
func TestBrokenLockInC(t *testing.T) {
	lock := clients.WasmPrefix + fromc.Compile(t, "broken.wasm", inC, "-DBROKEN")
	out, _, code := outputs(t, "run", "-v", "--lock", lock, "release-race/single")
	if code != exitUnexpected {
		t.Errorf("exit status %d", code)
	}
	for _, want := range []string{
		"c1 read the key on n1 at 9.007s, when it was that of c1#1, and got the answer at 12.009s.",
		"c1 deleted the key of c2#1 on n1 at 12.009s, in the release of c1#1",
		"DEL does not compare the token.",
		"the lock itself is at fault.",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the story lacks %q:\n%s", want, out)
		}
	}
	out, _, _ = outputs(t, "why", "--lock", lock, "release-race/single")
	if want := "receives GET lock from c1"; !strings.Contains(out, want) {
		t.Errorf("why lacks %q:\n%s", want, out)
	}
}

// A search finds what the lock does wrong, keeps it as a page that names the lock, and replays it to the byte.
func TestExploreLockInC(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a search")
	}
	lock := clients.WasmPrefix + fromc.Compile(t, "single.wasm", inC)
	dir := t.TempDir()
	out, told, code := outputs(t, "explore", "--lock", lock, "--kinds", "pause", "--first", "--out", dir)
	pages, _ := filepath.Glob(filepath.Join(dir, "found-wasm-*.txtar"))
	if code != exitUnexpected || len(pages) != 1 {
		t.Fatalf("exit status %d, kept %q\n%s%s", code, pages, out, told)
	}
	if out, told, code = outputs(t, "replay", pages[0]); code != exitExpected || !strings.Contains(out, "the same run, to the byte") {
		t.Errorf("exit status %d\n%s%s", code, out, told)
	}
	results := t.TempDir()
	if _, told, code = outputs(t, "run", "--out", results, pages[0]); code != exitExpected {
		t.Errorf("exit status %d\n%s", code, told)
	}
	if files, _ := filepath.Glob(filepath.Join(results, "*", "wasm-*.jsonl")); len(files) != 1 {
		t.Errorf("--out has written %q", files)
	}
}

// On real servers each client is a process that runs the program.
func TestLockInCOnRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("CI") == "" {
		t.Skip("redis-server is missing")
	}
	lock := clients.WasmPrefix + fromc.Compile(t, "single.wasm", inC)
	out, told, code := outputs(t, "run", "--json", "--on", "redis", "--tries", "3", "--lock", lock, "pause-after-acquire")
	if runs := ofJSON(t, out); code != exitExpected || len(runs) != 1 || runs[0].Verdict != checker.Unsafe {
		t.Errorf("exit status %d: %s%s", code, out, told)
	}
	bad := clients.WasmPrefix + fromc.Compile(t, "bad.wasm", "../../clients/foreign/testdata/bad.c", "-DBAD=FAILS")
	if _, told, code = outputs(t, "run", "--on", "redis", "--lock", bad, "pause-after-acquire"); code != exitUnknown {
		t.Errorf("exit status %d: %s", code, told)
	}
}

// If a program is not a lock, its runs prove nothing, one line says why, and all other runs are made.
func TestBadLocksInC(t *testing.T) {
	for bad, want := range map[string]string{
		"EXITS":        "it exited with status 0, but must answer requests until it is ended",
		"ENDS_AFTER":   "it exited with status 0, but must answer requests until it is ended",
		"FAILS":        "the process of the client exited with status 7",
		"TRAPS":        "wasm error: unreachable",
		"RECURSES":     "wasm error: ",
		"GROWS":        "wasm error: unreachable, when it had nearly all of the 512 MiB of memory that it may have",
		"SPINS":        "it runs code that is not Go, such as WebAssembly, and never calls its host",
		"READS_CLOCK":  "a goroutine computes without waiting",
		"FLOODS":       `it wrote "ok 0" to standard output, but was not asked anything; what is not an answer belongs on standard error`,
		"GREETS":       `it wrote "ready" to standard output, but was not asked anything`,
		"TALKS":        `it wrote "ok 0" to standard output, but was not asked anything`,
		"ONE_LINE":     "it wrote more than 4096 bytes to standard output without an end of line",
		"NONSENSE":     `it answered "acquire lock 10000" with "granted": the first word must be ok, refused or error`,
		"SILENT":       `it waits for the next request, but has not answered "acquire lock 10000": it has written nothing to standard output; or it must flush what it has written`,
		"UNFLUSHED":    `it waits for the next request, but has not answered "acquire lock 10000"`,
		"MILLISECONDS": `it answered "acquire lock 10000" with "ok 9990": the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds`,
	} {
		t.Run(bad, func(t *testing.T) {
			if testing.Short() && slices.Contains([]string{"SPINS", "READS_CLOCK", "GROWS"}, bad) {
				t.Skip("takes seconds")
			}
			lock := clients.WasmPrefix + fromc.Compile(t, "bad.wasm", "../../clients/foreign/testdata/bad.c", "-DBAD="+bad, "-Wno-infinite-recursion", "-Wno-unused-variable")
			limit := "20s"
			if bad == "SPINS" || bad == "READS_CLOCK" {
				limit = "2s"
			}
			out, told, code := outputs(t, "run", "--json", "--limit", limit, "--lock", lock+",single", "release-race")
			runs := ofJSON(t, out)
			if code != exitUnknown || len(runs) != 2 {
				t.Fatalf("exit status %d: %s%s", code, out, told)
			}
			for _, r := range runs {
				if r.Lock == "single" {
					if r.Verdict != checker.Safe {
						t.Errorf("single: %s", r.Verdict)
					}
					continue
				}
				if bad == "READS_CLOCK" && len(r.Unmet) == 1 && strings.Contains(r.Unmet[0], "had not ended after 2s") {
					want = "the run had not ended" // the world moves on now and then, perhaps just when the worker looks
				}
				if why := r.Unmet; r.Verdict != checker.Inconclusive || len(why) != 1 || !strings.HasPrefix(why[0], lock+": ") || !strings.Contains(why[0], want) || strings.Contains(why[0], "\n") {
					t.Errorf("%s: %q, want %q", r.Verdict, why, want)
				}
			}
		})
	}
}

// A file that is not a program is refused at once by every command that takes a lock.
func TestNoLockInFile(t *testing.T) {
	for _, args := range [][]string{
		{"run", "--lock", "single,wasm:./none.wasm", "release-race"},
		{"run", "--lock", "wasm:./none.wasm", "release-race/single"},
		{"show", "--lock", "wasm:./none.wasm", "release-race/single"},
		{"why", "--lock", "wasm:./none.wasm", "release-race/single"},
		{"matrix", "--lock", "wasm:./none.wasm"},
		{"explore", "--lock", "wasm:./none.wasm"},
		{"limits", "wasm:./none.wasm"},
		{"explore", "--grid", "pause=0s..60s/2", "--lock", "wasm:./none.wasm"},
	} {
		_, told, code := outputs(t, args...)
		if code != exitInput || strings.Count(told, "\n") != 1 || !strings.HasSuffix(told, "wasm:./none.wasm: there is no such file\n") {
			t.Errorf("lockstep %q: exit status %d: %s", args, code, told)
		}
	}
}
