package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// longestLine is the most bytes that a line of JSON may have. A search with hundreds of findings has a few.
const longestLine = 64 << 20

// longestName is the most bytes of the name of a lock, a property or the like.
const longestName = 200

// printed is what explore --json prints of one search, as far as the ledger needs it.
type printed struct {
	Lock     string `json:"lock"`
	Workload string `json:"workload"`
	Seed     uint64 `json:"seed"`
	Calm     string `json:"calm"` // the scenario that was perturbed
	// Properties are those whose violations were looked for; none stand for all.
	Properties []string `json:"properties"`
	Bounded    *bounded `json:"bounded"`
	Random     *random  `json:"random"`
	Found      []found  `json:"found"`
	Shared     []found  `json:"shared"`
}

type bounded struct {
	Bound int `json:"bound"`
	part
}

type random struct {
	Strategy string `json:"strategy"`
	part
}

// part is what a bounded and a random search have in common.
type part struct {
	Kinds     []string `json:"kinds"`
	Constants struct {
		TTL time.Duration `json:"ttl"`
	} `json:"constants"`
	Played       int    `json:"played"`
	Differs      string `json:"differs"`
	Ended        bool   `json:"ended"`
	Interrupted  bool   `json:"interrupted"`
	Inapplicable string `json:"inapplicable"`
}

// whole reports whether a search came to its end, so that what it did not find is not there.
func (p *part) whole() bool {
	return p.Differs == "" && !p.Ended && !p.Interrupted && p.Inapplicable == ""
}

type found struct {
	Property   string `json:"property"`
	Assumption string `json:"assumption"`
	Broke      string `json:"broke"`
	Plan       []struct {
		Kind  string   `json:"kind"`
		Steps []string `json:"steps"`
	} `json:"plan"`
	Scenario string `json:"scenario"`
	Token    string `json:"token"`

	page *script.Scenario
}

// A module has the version of Lockstep or of a library, as lockstep version --json prints it.
type module struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// kinds lists the kinds of the perturbations with which it was found: one for each perturbation, sorted.
func (f *found) kinds() []string {
	var all []string
	for _, p := range f.Plan {
		all = append(all, p.Kind)
	}
	slices.Sort(all)
	return all
}

// read calls search for each line of a file that explore --json has printed, and versions for each that version --json has.
func read(name string, r io.Reader, search func(*printed) error, versions func([]module)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, longestLine)
	n, searches, lines := 1, 0, 0
	for ; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		lines++
		if line[0] == '[' {
			var all []module
			if err := json.Unmarshal(line, &all); err != nil || len(all) == 0 || slices.ContainsFunc(all, module.odd) {
				return fmt.Errorf("%s:%d: an array must be what lockstep version --json prints; searches are what lockstep explore --json prints", name, n)
			}
			versions(all)
			continue
		}
		p, err := parse(line)
		if err == nil {
			err = search(p)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		searches++
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: a line may have at most %d MB; lockstep explore --json writes none that is longer", name, n, longestLine>>20)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case lines == 0:
		return fmt.Errorf("%s: it is empty; it must have a line of lockstep explore --json for each search", name)
	}
	return nil
}

func (m module) odd() bool {
	return m.Name == "" || len(m.Name) > longestName || len(m.Version) > longestName
}

// parse reads one line, and says what is wrong with it.
func parse(line []byte) (*printed, error) {
	var probe map[string]json.RawMessage
	if err := json.Unmarshal(line, &probe); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && strings.Contains(err.Error(), "unexpected end") {
			return nil, errors.New("the line breaks off; each line must be one whole JSON object, as lockstep explore --json prints it")
		}
		return nil, fmt.Errorf("not a line of lockstep explore --json: %w", history.Mistyped(err))
	}
	switch {
	case probe["groups"] != nil:
		return nil, errors.New("that is a matrix, whose cells have no scenario to replay; the ledger takes what lockstep explore --json prints")
	case probe["verdict"] != nil:
		return nil, errors.New("that is a line of lockstep run --json; the ledger takes what lockstep explore --json prints")
	}
	var p printed
	if err := json.Unmarshal(line, &p); err != nil {
		return nil, fmt.Errorf("not a line of lockstep explore --json: %w", history.Mistyped(err))
	}
	switch {
	case p.Lock == "" || probe["found"] == nil:
		return nil, errors.New(`not a line of lockstep explore --json: it must have a "lock" and what was "found"`)
	case p.Bounded == nil && p.Random == nil && len(p.Found) == 0:
		return nil, errors.New(`not a line of lockstep explore --json: it must have a "bounded" or a "random" search`)
	case len(p.Lock) > longestName || len(p.Workload) > longestName:
		return nil, fmt.Errorf("the names of the lock and the workload may have at most %d bytes", longestName)
	}
	for i := range p.Found {
		if err := p.Found[i].check(); err != nil {
			return nil, fmt.Errorf("finding %d: %w", i+1, err)
		}
	}
	return &p, nil
}

// token is what a token looks like. Others are not shown, because they are part of a command.
var token = regexp.MustCompile(`^lk[0-9]+\.[A-Za-z0-9_-]+$`)

// check checks a finding, and reads its scenario.
func (f *found) check() error {
	if f.Broke != "" {
		f.Property, f.Assumption = "the run ends", "none"
	}
	switch {
	case f.Property == "" || f.Assumption == "":
		return errors.New(`it must have a "property" and an "assumption"`)
	case len(f.Property) > longestName || len(f.Assumption) > longestName:
		return fmt.Errorf("its property and its assumption may have at most %d bytes", longestName)
	case f.Token != "" && !token.MatchString(f.Token):
		return errors.New("its token must be one that lockstep explore has printed, such as lk1.abc")
	case f.Scenario == "":
		return nil
	}
	page, err := script.Parse("scenario", []byte(f.Scenario))
	if err != nil {
		return fmt.Errorf("its scenario cannot be read: %w; it must be a scenario that lockstep explore has printed, with this version or an older one", err)
	}
	if len(page.Runs) != 1 {
		return fmt.Errorf("its scenario has %d runs; it must have one", len(page.Runs))
	}
	f.page = page
	return nil
}

// visit is what a search says about where it looked.
func (p *printed) visit() *visit {
	v := &visit{lock: p.Lock, workload: p.Workload, seed: p.Seed}
	if p.Calm != "" {
		v.calm = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\n%q", p.Calm, p.Properties)))[:16]
	}
	if b := p.Bounded; b != nil {
		v.ttl = b.Constants.TTL
		v.bound, v.boundKinds, v.boundWhole = b.Bound, b.Kinds, b.whole()
	}
	if r := p.Random; r != nil {
		v.ttl = r.Constants.TTL
		v.runs, v.strategy, v.randomKinds, v.randomWhole = r.Played, r.Strategy, r.Kinds, r.whole()
	}
	for _, f := range slices.Concat(p.Found, p.Shared) {
		v.failing = append(v.failing, failing{f.Property, f.Assumption})
	}
	return v
}

// digest identifies what was printed, so that it is not added twice.
func (p *printed) digest(version, build string) []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic("ledger: " + err.Error()) // it has just been read from JSON
	}
	sum := sha256.Sum256(fmt.Appendf(text, "\n%q %q", version, build))
	return sum[:16]
}
