package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/clients/libraries"
	"lockstep/clients/planted"
	"lockstep/internal/draws"
	"lockstep/sim/workers"
)

// asProgram is the environment variable that makes this test binary the program.
const asProgram = "LOCKSTEP_PROGRAM"

// standIns are locks of ours in the guise of libraries, because their behaviour is known. Their version is that of a module that every
// build has.
func standIns() []libraries.Lock {
	const module = "github.com/redis/go-redis/v9"
	flawed := func(name string) clients.New {
		for _, l := range broken.Locks() {
			if l.Name == name {
				return l.New
			}
		}
		panic("no such lock: " + name)
	}
	return []libraries.Lock{
		{Lock: clients.Lock{Name: "standin", About: "redlock in the guise of a library", Like: []string{"redlock", "redlock-sequential"}, New: clients.NewRedlock}, Module: module},
		{Lock: clients.Lock{Name: "standin-one", About: "single in the guise of a library", Like: []string{"single"}, New: clients.NewSingle}, Module: module},
		{Lock: clients.Lock{Name: "standin-flawed", About: "deletes without a look", Like: []string{"single"}, New: flawed("single-uncompared")}, Module: module},
		{Lock: clients.Lock{Name: "standin-fenced", About: "better than what it is compared with", Like: []string{"single"}, New: clients.NewFenced}, Module: module},
		{Lock: clients.Lock{Name: "standin-panics", About: "panics", Like: []string{"single"}, New: planted.Locks()[0].New}, Module: module},
	}
}

// The program under test also knows the planted locks and the stand-ins. Its workers are this test binary.
func TestMain(m *testing.M) {
	if name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name != "lockstep" && os.Getenv(asProgram) == "" {
		os.Unsetenv("GITHUB_ACTIONS") // scripts that test it set it
	}
	program := func() {
		os.Exit(run(known{locks: append(clients.Locks(), planted.Locks()...), libraries: append(libraries.Locks(), standIns()...)}, os.Args[1:]))
	}
	if workers.IsWorker() || os.Getenv(asProgram) != "" {
		program()
	}
	testscript.Main(m, map[string]func(){"lockstep": program})
}

func TestScripts(t *testing.T) {
	pages, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("COLUMNS", "100")
			env.Setenv("CATALOGUE", filepath.Join(pages, "catalogue"))
			env.Setenv("FOUND", filepath.Join(pages, "search", "testdata", "found"))
			program, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("LOCKSTEP", filepath.Join(program, "lockstep")) // for scripts that change the PATH
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "altered": altered},
		Condition: func(cond string) (bool, error) {
			if part, ok := strings.CutPrefix(cond, "not-today-"); ok { // a slow script runs on one day in four with -short
				n, err := strconv.ParseUint(part, 10, 64)
				return testing.Short() && !draws.Due(n, 4), err
			}
			return cond == "ci" && os.Getenv("CI") != "", nil
		},
	})
}

// exits is a command for scripts: exits STATUS PROGRAM ARGS... runs a program that must end with that status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	status := "0"
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		status = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if status != args[0] {
		ts.Fatalf("exit status %s, want %s", status, args[0])
	}
}
