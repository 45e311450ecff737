// Package reader plays the runs that a reader of the debate asks for: a run of a claim with other quantities, or a scenario that the reader
// has written. In a browser it is compiled to WebAssembly ([lockstep/cmd/browser]).
package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports/explorer"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// argument has the claims. They are read once, and not for each run.
var argument = sync.OnceValues(claims.Load)

// A Request asks for a run.
type Request struct {
	ID int `json:"id"` // that of the answer
	// A run of the catalogue. If it is one of a claim, values of its quantities can be given in their order. A value that is missing or
	// empty is that of the run.
	Claim  string   `json:"claim,omitempty"`
	Run    string   `json:"run,omitempty"`
	Values []string `json:"values,omitempty"`
	// Script is a scenario file instead. Its first run is played.
	Script string `json:"script,omitempty"`
	// Token is a run in a token instead, as lockstep explore prints it.
	Token string `json:"token,omitempty"`
	// Want says what is asked about the run; without it, everything.
	Want Want `json:"want,omitempty"`
	// A place in the script, for Completions and Fork: a line from 1, and the text of the line before the place.
	Line   int    `json:"line,omitempty"`
	Before string `json:"before,omitempty"`
	// At is when another fault is to come, for Fork: an instant of true time since the start, in nanoseconds.
	At time.Duration `json:"at,omitempty"`
	// Fault is the form of another fault, for Inject.
	Fault string `json:"fault,omitempty"`
}

// A Want is what is asked about a run.
type Want string

// What can be asked about a run, besides everything.
const (
	Properties  Want = "properties"  // only the properties
	Mistakes    Want = "mistakes"    // only the mistakes in the script; the run is not played
	Completions Want = "completions" // what can come next at a place in the script
	Exploring   Want = "exploration" // for [Explore]
	Fork        Want = "fork"        // the script with an unfinished step of the nemesis, which injects a fault at an instant
	Inject      Want = "inject"      // the script with a whole step of the nemesis, which injects a fault
)

// An Answer is what came of the run. If it was played, exactly one of Errors and Statuses is not empty.
type Answer struct {
	ID       int                                 `json:"id"`
	Errors   []Mistake                           `json:"errors,omitempty"`
	Statuses map[checker.Property]checker.Status `json:"statuses,omitempty"`
	Broken   map[checker.Property][]string       `json:"broken,omitempty"` // by property: the assumptions that its violations broke
	Verdict  checker.Verdict                     `json:"verdict,omitempty"`
	Unmet    []string                            `json:"unmet,omitempty"`
	Hint     string                              `json:"hint,omitempty"` // what a newcomer would not see in the violations
	Checksum string                              `json:"checksum,omitempty"`
	Script   string                              `json:"script,omitempty"`
	File     string                              `json:"file,omitempty"`  // the script made into a scenario file, if it lacks a proper title; otherwise empty
	Token    string                              `json:"token,omitempty"` // empty if the run is too long for one
	Figure   json.RawMessage                     `json:"figure,omitempty"`
	Handles  []Handle                            `json:"handles,omitempty"`
	Took     float64                             `json:"took,omitempty"` // how long it took to play and to judge, in milliseconds

	Completions []script.Completion `json:"completions,omitempty"`
	Exploration *Exploration        `json:"exploration,omitempty"`
	Line        int                 `json:"line,omitempty"` // of the new step, for [Fork] and [Inject]
}

// A Mistake is an error in a request.
type Mistake struct {
	Line int    `json:"line,omitempty"` // of the script, from 1; 0 if it is no line's mistake
	Text string `json:"text"`
}

// longestScript limits the length of a script, in bytes.
const longestScript = 64 << 10

// Play plays a run that is asked for. An error in the request is in the answer.
func Play(r Request) Answer {
	a, err := answer(r)
	if err != nil {
		a = &Answer{Errors: mistakes(err)}
	}
	a.ID = r.ID
	return *a
}

func answer(r Request) (*Answer, error) {
	switch r.Want {
	case Completions, Fork, Inject:
		if err := checkLength(r.Script); err != nil {
			return nil, err
		}
		switch r.Want {
		case Fork:
			text, line := forked(r.Script, r.At)
			return &Answer{Script: text, Line: line}, nil
		case Inject:
			text, line, err := injected(r.Script, r.Fault)
			return &Answer{Script: text, Line: line}, err
		}
		return &Answer{Completions: script.Complete(r.Script, r.Line, r.Before)}, nil
	}
	s, err := scenario(r)
	if err != nil {
		return nil, err
	}
	build, err := playable(s, s.Runs[0])
	if err != nil || r.Want == Mistakes {
		return &Answer{}, err
	}
	return played(s, build, r)
}

// playable returns the lock of a run, or says why the run cannot be played here.
func playable(s *script.Scenario, section script.Section) (clients.New, error) {
	if section.Guests {
		return nil, errors.New("the clients of this run are WebAssembly themselves, which is not possible in a browser")
	}
	if len(s.Sweep) > 0 {
		return nil, errors.New("a sweep is a series of runs; this page plays single runs only")
	}
	build, err := clients.Find(section.Lock)
	if err != nil {
		return nil, fmt.Errorf("%w; libraries are not part of this page", err)
	}
	return build, nil
}

// played plays a run.
func played(s *script.Scenario, build clients.New, r Request) (*Answer, error) {
	section := s.Runs[0]
	seed := section.Seed
	if seed == 0 {
		seed = 1
	}
	start := time.Now()
	o, err := play.Simulate(s, section, build, seed)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Statuses: map[checker.Property]checker.Status{}, Broken: map[checker.Property][]string{}, Verdict: o.Result.Verdict, Unmet: o.Result.Unmet,
		Checksum: o.History.Meta.Checksum, Took: float64(time.Since(start).Microseconds()) / 1000,
	}
	for _, p := range o.Result.Statuses {
		a.Statuses[p.Property] = p.Status
	}
	for _, v := range o.Result.Violations {
		if b := string(v.Assumption); !slices.Contains(a.Broken[v.Property], b) {
			a.Broken[v.Property] = append(a.Broken[v.Property], b)
		}
	}
	if r.Want == Properties {
		return a, nil
	}
	plain := s.Resolve(section).Resource == clients.Plain
	if plain && a.Statuses[checker.ResourceExclusion] == checker.Violated && slices.ContainsFunc(o.History.Events, hasToken) {
		a.Hint = "The lock gives each lease a fencing token, but this resource does not check it. With resource=fenced in the line that names the lock, it refuses a token lower than one that it has seen."
	} else if plain && o.Result.Verdict == checker.Safe {
		a.Hint = lucky(o.History)
	}
	if a.Script = s.String(); r.Script != "" {
		a.Script = r.Script // as its author wrote it
		if text, _ := titled(r.Script); text != r.Script {
			a.File = text
		}
	}
	a.Handles = handles(a.Script, o.History)
	a.Token, _ = s.Token() // a run that is too long for a token has none
	a.Figure, err = explorer.Data(o.ToExplore())
	return a, err
}

// lucky says of a run in which nothing was violated, although a client wrote when its lease was over, that another client had given up before. A
// reader might think that the lock, or its TTL, prevented the harm.
func lucky(h *history.History) string {
	until := map[string]time.Duration{} // of each lease, by the clock of its client
	last := map[string]history.Event{}  // of each client: the outcome that gave it a lease, or that of its last try
	asks := map[string]int{}            // where each client asks for the last time
	for i, e := range h.Events {
		if e.Op == history.Acquire && e.Kind == history.Invoke {
			asks[e.Process] = i
		}
	}
	for i, e := range h.Events {
		switch {
		case e.Op == history.Acquire && e.Kind == history.Invoke && last[e.Process].Kind != history.OK:
			delete(last, e.Process) // it asks again, so it has not given up
		case e.Op == history.Acquire && e.Kind == history.OK:
			last[e.Process], until[e.Lease] = e, e.Until
		case e.Lease != "" && e.Until > 0 && (e.Kind == history.OK || e.Kind == history.Info):
			until[e.Lease] = e.Until
		case e.Op == history.Acquire && e.EndsOperation() && last[e.Process].Kind != history.OK:
			last[e.Process] = e
		case e.Op == history.Write && e.Kind == history.Invoke && until[e.Lease] > 0 && e.Clock > until[e.Lease]:
			for _, c := range h.Meta.Clients {
				if last[c].Kind == history.Fail && asks[c] < i {
					return fmt.Sprintf("%s began to write at %s, when its lease was over. That did no harm, because %s had given up at %s.",
						e.Process, history.Seconds(e.At), c, history.Seconds(last[c].At))
				}
			}
		}
	}
	return ""
}

// hasToken reports whether an event is a write that the resource accepted under a fencing token.
func hasToken(e history.Event) bool {
	return e.Kind == history.State && e.Op == history.Accept && e.Fence > 0
}

// scenario returns the scenario that is asked for, with a single run.
func scenario(r Request) (*script.Scenario, error) {
	switch {
	case r.Token != "":
		s, err := script.FromToken(r.Token)
		if err == nil && len(s.Runs[0].Expect) == 0 {
			s.Title = ownTitle // the title of a token is about the violation that it expects
		}
		return s, err
	case r.Claim == "" && r.Run == "" && strings.TrimSpace(r.Script) == "":
		return nil, errors.New("write a scenario, or choose one under “Start from”")
	case r.Script == "" && r.Claim == "":
		s, section, err := find(r.Run)
		if err != nil {
			return nil, err
		}
		return script.Parse(s.File, []byte(alone(s, section)))
	case r.Script == "":
		return changed(r)
	}
	if err := checkLength(r.Script); err != nil {
		return nil, err
	}
	text, above := titled(r.Script)
	s, err := script.Parse("scenario.txtar", []byte(text))
	if err != nil {
		return nil, moved(err, above)
	}
	s.Runs = s.Runs[:1]
	return s, nil
}

// ownTitle is the title of a scenario whose author has given it none.
const ownTitle = "A scenario from the playground."

// titled returns a script with the title that a scenario file needs, and by how many lines the rest has moved down. A reader who tries
// something out needs no title, nor a full stop after it.
func titled(text string) (string, int) {
	down := 0
	first, rest, more := strings.Cut(text, "\n")
	for more && strings.TrimSpace(first) == "" {
		text, down = rest, down-1
		first, rest, more = strings.Cut(text, "\n")
	}
	if !strings.HasPrefix(text, "#") {
		return "# " + ownTitle + "\n\n" + text, down + 2
	}
	title := strings.TrimRight(strings.TrimPrefix(first, "#"), " \t\r")
	switch {
	case strings.TrimSpace(title) == "":
		title = " " + ownTitle
	case strings.HasSuffix(title, "."):
		return text, down
	default:
		title = strings.TrimRight(title, "?!:;,…") + "."
	}
	return "#" + title + "\n" + rest, down
}

// moved moves the mistakes in an error up to the lines where their author has them.
func moved(err error, lines int) error {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		for _, e := range many.Unwrap() {
			_ = moved(e, lines)
		}
	} else if e, ok := errors.AsType[*script.Error](err); ok {
		e.Line = max(e.Line-lines, 1)
	}
	return err
}

func checkLength(text string) error {
	if len(text) > longestScript {
		return fmt.Errorf("a scenario must have at most %d bytes, but this one has %d", longestScript, len(text))
	}
	return nil
}

// changed returns the run of a claim with other quantities.
func changed(r Request) (*script.Scenario, error) {
	a, err := argument()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(a.Claims, func(c claims.Claim) bool { return c.ID == r.Claim })
	if i < 0 {
		return nil, fmt.Errorf("there is no claim %.20q", r.Claim)
	}
	c := a.Claims[i]
	if !slices.ContainsFunc(c.Evidence, func(e claims.Evidence) bool { return e.Run == r.Run }) {
		return nil, fmt.Errorf("claim %s has no run %.100q", c.ID, r.Run)
	}
	s, section, err := find(r.Run)
	if err != nil {
		return nil, err
	}
	text := alone(s, section)
	n := 0
	for _, q := range c.Vary {
		own, ok := q.In(text)
		if q.Scenario != s.Name || !ok {
			continue
		}
		if n < len(r.Values) && r.Values[n] != "" {
			values, err := q.Values(own)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(values, r.Values[n]) {
				return nil, fmt.Errorf("%s must be one of the values of its slider, %s to %s; got %.20q", q.What, q.From, q.To, r.Values[n])
			}
			text = q.Set(text, r.Values[n])
		}
		n++
	}
	if n < len(r.Values) {
		return nil, fmt.Errorf("%s has %d quantities, but there are %d values", r.Run, n, len(r.Values))
	}
	return script.Parse(s.File, []byte(text))
}

// mistakes lists the mistakes in an error, each with its line.
func mistakes(err error) []Mistake {
	var many interface{ Unwrap() []error }
	var all []Mistake
	if errors.As(err, &many) {
		for _, e := range many.Unwrap() {
			all = append(all, mistakes(e)...)
		}
		return all
	}
	if e, ok := errors.AsType[*script.Error](err); ok {
		return []Mistake{{e.Line, e.Err.Error()}}
	}
	return []Mistake{{0, err.Error()}}
}
