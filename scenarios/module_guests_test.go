package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/internal/draws"
)

// The locks of a stranger's module call package time. They are compiled to WebAssembly with their tests, once.
func TestModuleByPackageTime(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own, and compiles it to WebAssembly")
	}
	m := newModule(t)
	for _, name := range []string{"dated", "timed"} {
		m.write(t, "timed/"+name+"_test.go", read(t, "testdata/"+name+".txt"))
	}
	out, status := m.run(t, "", "go", "test", "-c", "-o", "timed/", "./timed")
	says(t, out, status, 0)
	run := func(test, env string) (string, int) {
		t.Helper()
		c := exec.Command("./timed.test", "-test.v", "-test.run=^"+test+"$")
		c.Dir, c.Env = filepath.Join(m.dir, "timed"), append(os.Environ(), env)
		text, _ := c.CombinedOutput()
		return string(text), c.ProcessState.ExitCode()
	}

	// This lock takes nothing from Env but its nodes. Each run has a verdict. Where it cannot be compiled, the run stays unproved and says
	// why.
	t.Run("wholly", func(t *testing.T) {
		draws.Turn(t, 0, 3)
		out, status := m.run(t, "timed", "./timed.test", "-test.v", "-test.run=^TestTimed$")
		says(t, out, status, 0, "2 runs: 2 proved (", "; 1 with the clients as WebAssembly (*))")

		for why, env := range map[string]string{
			"there is no go command":               "PATH=" + t.TempDir(),
			"go test: exit status 1: ":             "GOFLAGS=-buildmode=plugin",
			"the cache for it cannot be written: ": "XDG_CACHE_HOME=/dev/null",
		} {
			out, status := run("TestTimed", env)
			says(t, out, status, 1, "2 runs: 1 proved (", ", 1 unproved (package time: 1)", "the clients could not run as WebAssembly: this program cannot be compiled to WebAssembly: "+why)
		}
	})

	// This lock reads the clock in Env for the end of its lease, and calls package time for the rest. A fault of that clock reaches only half
	// of it natively, so the run is repeated with guests, or proves nothing.
	t.Run("partly", func(t *testing.T) {
		draws.Turn(t, 1, 3)
		out, status := m.run(t, "timed", "./timed.test", "-test.v", "-test.run=^TestDated$")
		says(t, out, status, 1, "the assumption broken with it: bounded clock error", "the claim is that the lock is as good as single, which keeps it here", "(1 broken; 1 with the clients as WebAssembly (*))")

		// Explore does not play a run again. With guests from the start, it finds the mistake.
		out, status = m.run(t, "timed", "./timed.test", "-test.v", "-test.run=^TestDatedExplore$")
		says(t, out, status, 1, "jump c1 -", "lease exclusion")

		for env, why := range map[string]string{
			"GOFLAGS=-buildmode=plugin":          "the lock may call it (dated_test.go:22: time.Now)",
			"GOFLAGS=-modfile=/nowhere/else.mod": "it is not known whether the lock calls it (go list: exit status 1: go: ",
			"PATH=" + t.TempDir():                "it is not known whether the lock calls it (there is no go command)",
		} {
			out, status := run("TestDated", env)
			says(t, out, status, 1, "a client's clock was wrong, but package time was right, and "+why, "the clients could not run as WebAssembly: ", "1 unproved (package time: 1)")
		}
	})
}

// A program that calls Run is searched as well, if its source is there. It has a second lock, which counts its tokens in a package variable:
// native clients share it, so no two tokens are equal. With the host name in the token, the lock is correct. It then also closes a channel of
// its process, which native clients share.
func TestModuleProgramByPackageTime(t *testing.T) {
	draws.Turn(t, 2, 3)
	if testing.Short() {
		t.Skip("builds a module of its own, and compiles it to WebAssembly")
	}
	m := newModule(t)
	lock, _, _ := strings.Cut(read(t, "testdata/dated.txt"), "func TestDated(")
	lock = strings.NewReplacer("package timed", "package main", `"testing"`, "\"fmt\"\n\t\"os\"", "\t\"lockstep/scenarios/script\"\n\t\"lockstep/scenarios/search\"\n", "").Replace(lock)
	m.write(t, "judge/main.go", lock+`func main() {
	newLock, run := func(e clients.Env) clients.Locker { return dated{e} }, "sweep-client-jump"
	if len(os.Args) > 1 {
		newLock, run = func(e clients.Env) clients.Locker { return counted{e} }, "pause-after-acquire"
	}
	when := scenarios.GuestsNever
	if len(os.Args) < 4 {
		when = ""
	} else if os.Args[3] == "always" {
		when = scenarios.GuestsAlways
	}
	outcomes, err := scenarios.Run(context.Background(), newLock, scenarios.Only(run), scenarios.Guests(when))
	if err != nil {
		panic(err)
	}
	scenarios.Summary(os.Stdout, outcomes)
	for _, o := range outcomes {
		fmt.Println(o.Result.Unmet)
	}
}
`)
	m.write(t, "judge/counted.go", read(t, "testdata/counted.txt"))
	out, status := m.run(t, "", "go", "build", "-o", "judge/", "./judge")
	says(t, out, status, 0)
	out, status = m.run(t, "judge", "./judge")
	says(t, out, status, 0, "1 broken; 1 with the clients as WebAssembly (*)")

	out, status = m.run(t, "judge", "./judge", "counted")
	says(t, out, status, 0, "owner only         none\n", "1 broken; 1 with the clients as WebAssembly (*)")
	out, status = m.run(t, "judge", "./judge", "counted", "on its host")
	says(t, out, status, 0, "1 run: 1 proved (1 UNSAFE as single; 1 with the clients as WebAssembly (*))")

	out, status = m.run(t, "judge", "./judge", "counted", "on its host", "always")
	says(t, out, status, 0, "1 run: 1 proved (1 UNSAFE as single; 1 with the clients as WebAssembly (*))")
	out, status = m.run(t, "judge", "./judge", "counted", "on its host", "never")
	says(t, out, status, 0, "1 run: 0 proved, 1 unproved (shared state: 1)", "[in a native run the clients share what processes on different machines do not (counted.go:16: next)]")

	if err := os.Rename(filepath.Join(m.dir, "judge/main.go"), filepath.Join(m.dir, "main.go")); err != nil {
		t.Fatal(err)
	}
	out, status = m.run(t, "judge", "./judge")
	says(t, out, status, 0, "a client's clock was wrong, but package time was right, and it is not known whether the lock calls it (it is not known where its source is)")
}
