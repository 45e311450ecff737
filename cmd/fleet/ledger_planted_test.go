package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/cmd/fleet/ledger"
)

// call calls the program in the way of a user, and returns what it prints on standard output, and its exit status.
func call(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	root := newRoot()
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"ledger"}, args...))
	err := root.ExecuteContext(t.Context())
	var code status
	switch {
	case err == nil:
		return out.String(), 0
	case errors.As(err, &code):
		return out.String(), int(code)
	}
	return err.Error(), exitInput
}

// build builds lockstep. If planted is set, the name of a sound lock stands for a broken one, which deletes the key of whoever has it.
func build(t *testing.T, dir string, planted bool) string {
	t.Helper()
	name := "sound"
	args := []string{"build"}
	if planted {
		name = "planted"
		main, err := filepath.Abs("../lockstep/main.go")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(main)
		if err != nil {
			t.Fatal(err)
		}
		const locks = "known{locks: clients.Locks(),"
		if strings.Count(string(text), locks) != 1 {
			t.Fatalf("%s has no %q", main, locks)
		}
		changed := strings.Replace(string(text), locks, "known{locks: planted(clients.Locks()),", 1)
		changed = strings.Replace(changed, `"lockstep/clients"`, "\"lockstep/clients\"\n\t\"lockstep/clients/broken\"", 1)
		changed += `
func planted(all []clients.Lock) []clients.Lock {
	for i := range all {
		for _, bad := range broken.All() {
			if all[i].Name == "single" && bad.Name == "single-uncompared" {
				all[i].New = bad.New
			}
		}
	}
	return all
}
`
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{main: file}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay", filepath.Join(dir, "overlay.json"))
	}
	program := filepath.Join(dir, name)
	c := exec.Command("go", append(args, "-o", program, "./cmd/lockstep")...)
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// explore is what a night prints.
func explore(t *testing.T, program string, args ...string) string {
	t.Helper()
	c := exec.Command(program, append([]string{"explore", "--lock", "single", "--json"}, args...)...)
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() < exitInput) {
		t.Fatal(err)
	}
	return string(out)
}

// TestPlantedRegression plants a broken lock under the name of a sound one, repairs it, and plants it again.
func TestPlantedRegression(t *testing.T) {
	if testing.Short() {
		t.Skip("builds lockstep twice")
	}
	dir := t.TempDir()
	sound, planted := build(t, dir, false), build(t, dir, true)
	file := filepath.Join(dir, "ledger.db")
	state := func() map[string]ledger.State {
		out, code := call(t, "", "--ledger", file, "list", "--json")
		var all []*ledger.Finding
		if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil {
			t.Fatal(out, code, err)
		}
		of := map[string]ledger.State{}
		for _, f := range all {
			if f.Property == "owner only" {
				of[f.ID] = f.State
			}
		}
		return of
	}
	expect := func(night string, want ledger.State) {
		t.Helper()
		all := state()
		if len(all) == 0 {
			t.Fatalf("%s: nothing was found", night)
		}
		for id, got := range all {
			if got != want {
				t.Errorf("%s: %s is %s, not %s", night, id, got, want)
			}
		}
	}
	add := func(night, program string, code int) {
		t.Helper()
		version := filepath.Base(program)
		out, got := call(t, explore(t, program), "--ledger", file, "add", "-", "--night", night, "--version", version)
		if got != code {
			t.Errorf("%s: exit status %d, not %d\n%s", night, got, code, out)
		}
	}
	replay := func(night, program string, code int) string {
		t.Helper()
		out, got := call(t, "", "--ledger", file, "replay", "--lockstep", program, "--night", night)
		if got != code {
			t.Errorf("%s: exit status %d, not %d\n%s", night, got, code, out)
		}
		return out
	}

	add("night 1", planted, exitUnexpected)
	expect("night 1", ledger.New)
	add("night 2", planted, 0)
	expect("night 2", ledger.Ongoing)
	add("night 3", sound, 0)
	expect("night 3", ledger.Resolved)
	replay("night 4", sound, 0)
	expect("night 4", ledger.Resolved)
	add("night 5", planted, exitUnexpected)
	expect("night 5", ledger.Regressed)

	// The same by replays alone. What the sound lock fails in, too, is ongoing all the time.
	replay("night 6", sound, 0)
	expect("night 6", ledger.Resolved)
	if out := replay("night 7", planted, exitUnexpected); !strings.Contains(out, "regressed") || !strings.Contains(out, "fails") {
		t.Error(out)
	}
	expect("night 7", ledger.Regressed)
	if out, code := call(t, "", "--ledger", file, "list", "--state", "ongoing"); code != 0 || !strings.Contains(out, "resource exclusion") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}
