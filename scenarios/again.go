package scenarios

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// replayVariable is the environment variable with the token of a run, or the file with its scenario. [Explore] and [Limits] play that
// run instead of a search, and [Test] instead of the catalogue.
const replayVariable = "LOCKSTEP_REPLAY"

// replayed returns the scenario that replayVariable names; nil if it is not set.
func replayed(ctx context.Context) (*script.Scenario, error) {
	name := os.Getenv(replayVariable)
	if name == "" {
		return nil, nil
	}
	load := func(name string) (*script.Scenario, error) { return script.Load(ctx, name) }
	if script.IsToken(name) {
		load = script.FromToken
	}
	page, err := load(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", replayVariable, err)
	}
	return page, nil
}

// seeAgain is a command that makes a test, or a fuzz target, play a run again, and nothing else.
func seeAgain(test string, page *script.Scenario) string {
	token, err := page.Token()
	if err != nil {
		return "there is no token to see it again: " + err.Error()
	}
	command := "see it again: " + replayVariable + "=" + token + " go test -run " + quote(only(test))
	if p := packagePath(); p != "" {
		command += " " + p
	}
	return command
}

// again returns the command that repeats the subtest of an outcome, and only that one.
func (b *bench) again(test string, o *play.Outcome) string {
	c := "go test -run " + quote(only(test))
	if b.replays {
		c = replayVariable + "=" + quote(os.Getenv(replayVariable)) + " " + c
	}
	if slices.ContainsFunc(b.names, func(name string) bool { return strings.HasPrefix(name, o.Name()+"/") }) {
		// A pattern selects subtests below, too: lost-update/nolock selects lost-update/nolock/many.
		above := strings.Count(test, "/")
		last := test[strings.LastIndex(test, "/")+1:]
		c += " -skip " + quote(strings.Repeat("/", above)+"^"+regexp.QuoteMeta(last)+"$/.")
	}
	return c + whereAndHow()
}

// replay returns the command that plays the scenario in a file with the lock of the test.
func (b *bench) replay(file string) string {
	return replayVariable + "=" + quote(file) + " go test -run " + quote(only(b.t.Name())) + whereAndHow()
}

// whereAndHow ends a command with the package of the test, and with the flags of its own that are set.
func whereAndHow() string {
	c := ""
	if p := packagePath(); p != "" {
		c += " " + p
	}
	if own := ownFlags(); len(own) > 0 {
		c += " -args"
		for _, f := range own {
			c += " " + quote(f)
		}
	}
	return c
}

// only returns a pattern that selects one test, and the tests below it.
func only(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// ownFlags lists the flags of the test binary that are set and are not those of go test: the lock may depend on them.
func ownFlags() []string {
	var set []string
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			set = append(set, "-"+f.Name+"="+f.Value.String())
		}
	})
	return set
}

// packagePath is the import path of the package under test, by which go test finds it from anywhere in its module; empty if the
// package was given as a list of files.
func packagePath() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	path := strings.TrimSuffix(info.Path, ".test")
	if path == info.Path || strings.HasPrefix(path, "command-line-arguments") {
		return ""
	}
	return path
}

// quote quotes a word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
