package play

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/live"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// onRemote is [onServers] on existing servers. Whatever happens, the keys of the run are gone when it returns, or the error says
// which are left. If the process is killed, [RunAll] removes them.
func onRemote(ctx context.Context, s *script.Scenario, run script.Section, j job) (o *Outcome, err error) {
	servers, err := live.ParseRemotes(j.Servers, "")
	if err != nil {
		return nil, err
	}
	if err := CheckRemote(s, run, j.Speed, servers); err != nil {
		return nil, err
	}
	client, err := j.client()
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
	theirs.Servers, theirs.Prefix = "", "" // clients know only the proxies
	if err := onCluster(r, remote.Cluster, theirs, client); err != nil {
		return nil, err
	}
	return Judge(s, r, &history.History{Meta: metaOf(r, s, servers.String(), j.Seed), Events: remote.Events()}), nil
}

// onTheseServers assigns a server to each lock node, and to a counter: the next server, or, if there is none, that of the last
// node, with a different prefix.
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

// LeftOut reports whether an error of [CheckRedis] or [CheckRemote] means that the run is not possible there at any speed.
func LeftOut(err error) bool {
	return errors.Is(err, live.ErrSimOnly) || errors.Is(err, live.ErrNotOurs) || errors.Is(err, errTooFew)
}

// CheckRemote says why a run would be refused on existing servers; nil if it would not. Faults can affect the clients and their
// network, but not the servers.
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
		if value := r.Setting(key); value != "" && value != string(engine.AOFAlways) { // which has no effect here
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
			continue // between clients and our proxies
		}
		if !slices.Contains(ours, fault.Target()) {
			return fmt.Errorf("%w: %s%s", live.ErrNotOurs, fault, instead)
		}
	}
	if n := len(r.NodeNames()); n > len(servers) {
		return fmt.Errorf("%w: the run has %d lock nodes, and --on names %s", errTooFew, n, howMany(len(servers), "server"))
	}
	return nil
}

func howMany(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CheckServers says which of the servers cannot be used, and warns of what may spoil a run.
func CheckServers(ctx context.Context, servers live.Remotes) (warnings []string, err error) {
	QuietRedis()
	return servers.Check(ctx)
}

// where returns what the history of a case says about where it was played.
func (c Case) where() string {
	if len(c.Servers) > 0 {
		return c.Servers.String()
	}
	return c.On
}

// session names a series of runs on existing servers, for the prefix of their keys.
func session(cases []Case) string {
	if slices.ContainsFunc(cases, func(c Case) bool { return len(c.Servers) > 0 }) {
		return strings.ToLower(rand.Text())
	}
	return ""
}

// sweepLimit limits the time for removing the keys that killed workers have left.
const sweepLimit = 30 * time.Second

// sweep removes the keys of runs that were interrupted, even if ctx has ended.
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
