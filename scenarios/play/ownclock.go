package play

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"

	"lockstep/clients"
	"lockstep/nodes/packagetime"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
	"lockstep/sim/wasm"
)

// clocked builds the program of clients on real servers whose package time can be set; see package packagetime.
// When ctx ends, that is given up.
func clocked(ctx context.Context) (string, error) {
	native.Lock()
	defer native.Unlock()
	if !native.known {
		native.path, native.err = wasm.Native(ctx, packagetime.Build)
		native.known = ctx.Err() == nil
	}
	if native.err != nil {
		return "", fmt.Errorf("package time cannot be set in the processes of clients: %w", native.err)
	}
	return native.path, nil
}

// native is what clocked has built.
var native struct {
	sync.Mutex
	path  string
	err   error
	known bool
}

// needsClocks reports whether the clients of a case need a package time that can be set. They do on real servers if a fault sets
// the clock of one of them. Locks of the literature need none, because they take their time from Env.
func (c Case) needsClocks() bool {
	if c.On != OnReal {
		return false
	}
	if _, err := clients.Find(c.Run.Lock); err == nil {
		return false
	}
	r := c.Scenario.Resolve(c.Run)
	return slices.ContainsFunc(r.Lane(script.Nemesis), func(step script.Step) bool {
		f := script.FaultOf(step)
		return f != nil && history.SetsClock(f) && slices.Contains(r.Clients(), f.Target())
	})
}

// client returns the command that starts a client process of a job: this program, or, if package time must be set, the one that
// was built for that.
func (j job) client() (func() *exec.Cmd, error) {
	path := j.Program.Path
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	return func() *exec.Cmd { return exec.Command(path, os.Args[1:]...) }, nil
}
