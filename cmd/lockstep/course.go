package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports/course"
	"lockstep/reports/debate"
	"lockstep/reports/pictures"
	"lockstep/reports/sites"
	"lockstep/scenarios/play"
)

// courseMark is the first line of the list of files of a course.
const courseMark = "# Written by lockstep course, which replaces what is listed here, and nothing else.\n"

func newCourse(k known) *cobra.Command {
	f := &runFlags{known: k, on: play.OnSim, tries: 1}
	var live bool
	c := &cobra.Command{
		Use:   "course --out DIR",
		Short: "Write a lesson about locks on Redis: slides, a lab that grades itself, and the key",
		Long: `Course writes what a lesson of two hours needs, based on the debate between Kleppmann and antirez:

  slides.html   slides, with pictures of runs that are played when the course is written
  lab           six exercises in Go, from SETNX to a lock with fencing tokens; go test plays the
                student's lock in stories of the catalogue, counts points, and explains what failed
  instructor    how to teach the lesson and grade a hundred submissions, and the key: right and
                wrong solutions, and what they get
  index.html    a list of the files, and a plan of the two hours

The lab needs Go, but no network and no Lockstep: all code that it needs is in it. To make it,
course needs the go command and the source of Lockstep.

With --live there is also a lab that needs only a browser, browser.html, and the debate with runs
that can be changed; see lockstep debate. The program for that is compiled, which takes a minute.

DIR must be new or empty, or contain a course that lockstep course has written, which is replaced.`,
		Example: `  lockstep course --out course
  lockstep course --out course --live                with a lab that needs only a browser`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.course(c, live) },
	}
	c.Flags().Var((*fileValue)(&f.out), "out", "write the course to `DIR`")
	c.Flags().BoolVar(&live, "live", false, "add a lab that needs only a browser")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	f.bounds(c, "")
	return c
}

func (f *runFlags) course(c *cobra.Command, live bool) error {
	dir, err := f.siteDir("course", courseMark)
	if err != nil {
		return err
	}
	defer dir.Close()
	files, err := f.courseFiles(c, live)
	if err != nil {
		return err
	}
	if err := dir.Write(c.Context(), sites.Sealed(courseMark, files)); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "a course of %d files: %s\n", len(files), dir.Index())
	return nil
}

// courseFiles makes the runs of the slides, and returns the files of the course.
func (f *runFlags) courseFiles(c *cobra.Command, live bool) ([]sites.File, error) {
	names, err := course.Runs()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(c.Context(), f.known, names, nil)
	if err != nil {
		return nil, err
	}
	outcomes, err := f.runAll(c, f.cases(chosen, 0))
	if err != nil {
		return nil, err
	}
	pages := course.Course{Command: "lockstep course --out course", Live: live}
	for i, r := range pageRuns(outcomes) {
		if o := outcomes[i]; o.Report != nil || o.Result.Verdict == checker.Inconclusive {
			return nil, fmt.Errorf("the run %s for the slides came to no verdict", o.Name())
		}
		r.Picture = pictures.NewSlides(r.Facts, r.Result).Whole().Inline() // larger than that of a page
		pages.Runs = append(pages.Runs, debate.NamedRun{Run: r, Name: outcomes[i].Name(), Command: f.again(outcomes[i])})
	}
	var site []sites.File
	if live {
		pages.Command += " --live"
		if _, site, err = f.debateFiles(c, true); err != nil {
			return nil, err
		}
	}
	module, err := newLabModule(c.Context())
	if err != nil {
		return nil, err
	}
	defer hold()()
	defer module.remove()
	pages.Go = module.version
	files, err := pages.Files()
	if err != nil {
		return nil, err
	}
	vendored, err := module.files(c.Context(), files)
	if err != nil {
		return nil, err
	}
	files = append(files, vendored...)
	for _, s := range site {
		files = append(files, sites.File{Name: "debate/" + s.Name, Data: s.Data})
	}
	return files, nil
}

// A labModule is the module of the lab while it is made, in a directory of its own.
type labModule struct {
	dir     string
	source  string // of Lockstep
	version string // of Go, which it needs
	goMod   string // that of Lockstep
}

const whyGo = "copies the code that the lab needs"

// newLabModule starts the module of the lab. It needs the go.mod of Lockstep.
func newLabModule(ctx context.Context) (*labModule, error) {
	mod, err := goCommand{why: whyGo}.run(ctx, "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	mod = strings.TrimSpace(mod)
	text, err := os.ReadFile(mod)
	if err != nil {
		return nil, err
	}
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(text)
	if version == nil {
		return nil, fmt.Errorf("%s must have a line with the version of Go", mod)
	}
	dir, err := os.MkdirTemp("", "lockstep-lab-*")
	if err != nil {
		return nil, err
	}
	return &labModule{dir: dir, source: filepath.Dir(mod), version: string(version[1]), goMod: string(text)}, nil
}

func (m *labModule) remove() { os.RemoveAll(m.dir) }

// files returns what makes a module of the lab, of which the Go files are given: go.mod, and all code that it needs, in vendor.
//
// The go command makes vendor from a go.mod that requires what Lockstep requires, and replaces Lockstep by its source. That is a path on
// this machine, which would not exist on another. So go.mod and vendor/modules.txt are written again without it, and with only those modules
// of which there is a package. The go command compares the two with each other, and no longer looks for any module.
func (m *labModule) files(ctx context.Context, of []sites.File) ([]sites.File, error) {
	for _, f := range of {
		name, ok := strings.CutPrefix(f.Name, "lab/")
		if !ok || !strings.HasSuffix(name, ".go") {
			continue
		}
		name = filepath.Join(m.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			return nil, err
		}
	}
	own := regexp.MustCompile(`(?m)^tool \([^)]*\)$|^(module|tool) .*$`).ReplaceAllString(m.goMod, "")
	own = fmt.Sprintf("module lab\n%s\nrequire lockstep v0.0.0\nreplace lockstep => %q\n", own, m.source)
	sums, err := os.ReadFile(filepath.Join(m.source, "go.sum"))
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"go.mod": []byte(own), "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(m.dir, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := (goCommand{why: whyGo, dir: m.dir}).run(ctx, "mod", "vendor"); err != nil {
		return nil, err
	}
	return m.vendored()
}

// vendored reads vendor, and writes go.mod and vendor/modules.txt anew.
func (m *labModule) vendored() ([]sites.File, error) {
	list, err := os.ReadFile(filepath.Join(m.dir, "vendor", "modules.txt"))
	if err != nil {
		return nil, err
	}
	modules, mod := withoutPaths(string(list), m.version)
	files := []sites.File{{Name: "lab/go.mod", Data: []byte(mod)}, {Name: "lab/vendor/modules.txt", Data: []byte(modules)}}
	root := os.DirFS(m.dir)
	err = fs.WalkDir(root, "vendor", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == "vendor/modules.txt" {
			return err
		}
		data, err := fs.ReadFile(root, name)
		files = append(files, sites.File{Name: "lab/" + name, Data: data})
		return err
	})
	return files, err
}

// withoutPaths returns a vendor/modules.txt without replacements, and without modules of which no package is needed; and a go.mod that fits it.
func withoutPaths(list, version string) (modules, mod string) {
	var kept, required strings.Builder
	for _, block := range regexp.MustCompile(`(?m)^# `).Split(list, -1) {
		head, rest, _ := strings.Cut(block, "\n")
		words := strings.Fields(head)
		if len(words) < 2 || words[1] == "=>" || !regexp.MustCompile(`(?m)^[^#\s]`).MatchString(rest) {
			continue
		}
		fmt.Fprintf(&kept, "# %s %s\n%s", words[0], words[1], rest)
		fmt.Fprintf(&required, "\t%s %s\n", words[0], words[1])
	}
	return kept.String(), fmt.Sprintf("// All modules are in vendor. Do not run go mod tidy or go mod vendor here: they need the network.\nmodule lab\n\ngo %s\n\nrequire (\n%s)\n", version, required.String())
}
