package play

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/live"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// onRemote is [onServers] on servers that are somebody's own. Whatever becomes of the run, its keys are gone when it returns, or
// the error says which are not; where it does not come to that because the process is killed, [RunAll] sees to it.
func onRemote(ctx context.Context, s *script.Scenario, run script.Section, j job) (o *Outcome, err error) {
	servers, err := live.ParseRemotes(j.Servers, "")
	if err != nil {
		return nil, err
	}
	if err := CheckRemote(s, run, j.Speed, servers); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := realRun(s, run, j.Speed)
	names, lent := onTheseServers(r, servers)
	remote, err := live.OpenRemote(ctx, names, lent, j.Prefix)
	if err != nil {
		return nil, err
	}
	defer func() {
		left := remote.End()
		if err == nil && left != nil {
			o, err = nil, left
		}
	}()
	theirs := j
	theirs.Servers, theirs.Prefix = "", "" // clients know the proxies, and nothing of what is behind them
	if err := onCluster(r, remote.Cluster, theirs, func() *exec.Cmd { return exec.Command(self, os.Args[1:]...) }); err != nil {
		return nil, err
	}
	return Judge(s, r, &history.History{Meta: metaOf(r, s, servers.String(), j.Seed), Events: remote.Events()}), nil
}

// onTheseServers says which server each lock node takes, and where a counter is: on the next server, or, if there is none, beside
// the last node, with keys of its own.
func onTheseServers(r script.Section, servers live.Remotes) (names []string, lent live.Remotes) {
	names = r.NodeNames()
	lent = slices.Clone(servers[:len(names)])
	if r.Resource == script.Counter {
		lent = append(lent, servers[min(len(names), len(servers)-1)])
		names = append(slices.Clone(names), script.ResourceName)
	}
	return names, lent
}

// errTooFew says that a run has more lock nodes than there are servers.
var errTooFew = errors.New("too few servers")

// LeftOut reports whether an error of [CheckRedis] or [CheckRemote] is about what cannot be done there at all, whatever the speed.
func LeftOut(err error) bool {
	return errors.Is(err, live.ErrSimOnly) || errors.Is(err, live.ErrNotOurs) || errors.Is(err, errTooFew)
}

// CheckRemote says why a run would be refused on servers that are somebody's own; nil if it would not. Their network to the
// clients, and the clients, are ours to disturb; the servers are not.
func CheckRemote(s *script.Scenario, run script.Section, speed float64, servers live.Remotes) error {
	if err := CheckRedis(s, run, speed); err != nil {
		return err
	}
	r := s.Resolve(run)
	if err := checkRemote(r, servers); err != nil {
		return fmt.Errorf("%s/%s: %w", s.Name, r.ID(), err)
	}
	return nil
}

func checkRemote(r script.Section, servers live.Remotes) error {
	const instead = "; --on redis does it to servers that Lockstep starts"
	for _, key := range []string{"replicas", "sentinels", "shards", "persistence"} {
		if value := r.Setting(key); value != "" && value != string(engine.AOFAlways) { // which nothing puts to the test here
			return fmt.Errorf("%w: %s=%s%s", live.ErrNotOurs, key, value, instead)
		}
	}
	ours := append(r.Clients(), script.ProbeName)
	if r.Resource != script.Counter {
		ours = append(ours, script.ResourceName)
	}
	for _, step := range r.Lane(script.Nemesis) {
		fault := script.FaultOf(step)
		if history.ActsOnLinks(fault) {
			continue // on the way to our proxies
		}
		if !slices.Contains(ours, fault.Target()) {
			return fmt.Errorf("%w: %s%s", live.ErrNotOurs, fault, instead)
		}
	}
	if n := len(r.NodeNames()); n > len(servers) {
		return fmt.Errorf("%w: it has %d lock nodes, and --on names %s", errTooFew, n, howMany(len(servers), "server"))
	}
	return nil
}

func howMany(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CheckServers says which of somebody's servers cannot be borrowed, and warns of what may spoil a run.
func CheckServers(ctx context.Context, servers live.Remotes) (warnings []string, err error) {
	QuietRedis()
	return servers.Check(ctx)
}

// where is what the history of a case says that it was on.
func (c Case) where() string {
	if len(c.Servers) > 0 {
		return c.Servers.String()
	}
	return c.On
}

// session names what a series of runs leaves on servers that are somebody's own.
func session(cases []Case) string {
	if slices.ContainsFunc(cases, func(c Case) bool { return len(c.Servers) > 0 }) {
		return strings.ToLower(rand.Text())
	}
	return ""
}

// sweepLimit is how long it may take to remove what killed workers left.
const sweepLimit = 30 * time.Second

// sweep removes the keys of runs that did not come to their own end. It does so even where ctx is over.
func sweep(ctx context.Context, session string, cases []Case) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
	defer cancel()
	QuietRedis()
	swept := map[string]bool{}
	var errs []error
	for _, c := range cases {
		if all := c.Servers.URLs(); all != "" && !swept[all] {
			swept[all] = true
			errs = append(errs, c.Servers.Sweep(ctx, live.SessionPrefix(session)))
		}
	}
	return errors.Join(errs...)
}
