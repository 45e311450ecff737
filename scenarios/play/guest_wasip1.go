package play

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/clients"
	"lockstep/nodes/packagetime"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/wasm"
)

// beGuest carries out the lane of one client, in the instance of that client. Afterwards the process ends.
func beGuest(find Finder) error {
	j, s, run, build, err := readJob(ask(question{Job: true}).Job, find)
	if err != nil {
		return err
	}
	wasm.Restart(ask(question{Random: true}).Random) // what was drawn up to here depends on what else the program contains
	r, a := s.Resolve(run), j.Client
	dial := clients.Dialer(a.Group.Dialer(wasm.Dial))
	env := clients.NewEnv(clockwork.NewRealClock(), packagetime.Wall(), sim.Rand(j.Seed, "client", a.Name), dial, a.Nodes)
	if r.Pool == script.Warm {
		env.Warm()
		build = env.Made(build)
	}
	ask(question{Begin: true})
	steps := r.Lane(a.Name)
	if a.Name == script.ProbeName {
		steps = probeLane(r)
	}
	var left leftovers // until the process ends
	left.runLane(context.Background(), guestHost{}, env, build, a.Resource, r.TTL, steps)
	never := ask(question{End: true}).FD
	if staysOn(steps) {
		wasm.Await(never)
	}
	return nil
}

func ask(q question) reply {
	data, err := json.Marshal(q)
	if err != nil {
		panic("play: " + err.Error())
	}
	var a reply
	if err := json.Unmarshal(wasm.Ask(data), &a); err != nil {
		panic("play: " + err.Error())
	}
	return a
}

// guestHost is the [clients.Host] of a guest: it asks the worker.
type guestHost struct{}

func (guestHost) Record(e history.Event) { ask(question{Record: &e}) }
func (guestHost) Doing(op string, id int, lock string) {
	ask(question{Doing: &doing{op, id, lock}})
}
func (guestHost) Lease() string         { return ask(question{Lease: true}).Lease }
func (guestHost) Pause(d time.Duration) { ask(question{Pause: d}) }
func (guestHost) Until(t time.Duration) { wasm.Await(ask(question{Until: &t}).FD) }
func (guestHost) Steady() time.Duration { return ask(question{Steady: true}).Steady }
