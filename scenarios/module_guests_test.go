package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The lock of a stranger's module calls package time. It is compiled to WebAssembly with its test, and each of its runs has a
// verdict. Where it cannot be compiled, the run stays unproved and says why.
func TestModuleByPackageTime(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own, and compiles it to WebAssembly")
	}
	m := newModule(t)
	m.write(t, "timed/timed_test.go", read(t, "testdata/timed.txt"))
	out, status := m.run(t, "", "go", "test", "-c", "-o", "timed/", "./timed")
	says(t, out, status, 0)
	out, status = m.run(t, "timed", "./timed.test", "-test.v")
	says(t, out, status, 0, "2 runs: 2 proved (", "; 1 with the clients as WebAssembly)")

	for why, env := range map[string]string{
		"there is no go command":               "PATH=" + t.TempDir(),
		"go test: exit status 1: ":             "GOFLAGS=-buildmode=plugin",
		"the cache for it cannot be written: ": "XDG_CACHE_HOME=/dev/null",
	} {
		c := exec.Command("./timed.test", "-test.v")
		c.Dir, c.Env = filepath.Join(m.dir, "timed"), append(os.Environ(), env)
		text, _ := c.CombinedOutput()
		says(t, string(text), c.ProcessState.ExitCode(), 1, "2 runs: 1 proved (", ", 1 unproved (package time: 1)", "the clients could not run as WebAssembly: this program cannot be compiled to WebAssembly: "+why)
	}
}

// A stranger's lock reads the clock in Env for the end of its lease, and calls package time for the rest. A fault of that clock
// reaches only half of it natively, so the run is repeated with guests, or proves nothing.
func TestModulePartlyByPackageTime(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own, and compiles it to WebAssembly")
	}
	m := newModule(t)
	m.write(t, "dated/dated_test.go", read(t, "testdata/dated.txt"))
	out, status := m.run(t, "", "go", "test", "-c", "-o", "dated/", "./dated")
	says(t, out, status, 0)
	out, status = m.run(t, "dated", "./dated.test", "-test.v")
	says(t, out, status, 1, "the assumption broken with it: bounded clock error", "it is claimed that the lock is as good as single, which keeps it here", "(1 broken; 1 with the clients as WebAssembly)")

	for env, want := range map[string]struct {
		status int
		lines  []string
	}{
		"GOFLAGS=-buildmode=plugin": {1, []string{"a clock of a client was wrong, but not that of package time, which the lock may call (dated_test.go:20: time.Now)", "the clients could not run as WebAssembly: "}},
		"PATH=" + t.TempDir():       {0, []string{"lockstep: it is not known whether the lock calls package time: there is no go command. If it does, runs with a wrong clock of a client prove less than they say.", "2 runs: 1 proved (1 SAFE), 1 does not apply"}},
	} {
		c := exec.Command("./dated.test", "-test.v")
		c.Dir, c.Env = filepath.Join(m.dir, "dated"), append(os.Environ(), env)
		text, _ := c.CombinedOutput()
		says(t, string(text), c.ProcessState.ExitCode(), want.status, want.lines...)
	}
}
