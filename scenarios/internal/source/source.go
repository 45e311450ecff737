//go:build !js

// Package source searches the source of the code under test.
package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// clocks are the functions by which code reads the clock of package time, or waits by it.
var clocks = map[string][]string{
	"time":                           {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"context":                        {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"github.com/jonboulle/clockwork": {"NewRealClock", "WithTimeout", "WithDeadline"},
}

// MayCallPackageTime says why the code under test may call package time: because of the place at which it mentions a function of it,
// such as "the lock may call it (lock.go:31: time.Now)", or because its source cannot be searched. It is empty if the code does not. dir is
// the directory of the program or of the package under test, and options are those with which the go command builds it. The code under
// test is the program or the test, and all packages that it depends on, except those of the standard library, those of Lockstep, and
// those that Lockstep depends on itself, such as go-redis.
func MayCallPackageTime(dir string, options []string) string {
	where, err := packageTime(dir, options)
	switch {
	case err != nil:
		return fmt.Sprintf("it is not known whether the lock calls it (%v)", err)
	case where != "":
		return "the lock may call it (" + where + ")"
	}
	return ""
}

// pkg is what go list prints about a package.
type pkg struct {
	ImportPath, Name  string
	Dir               string
	GoFiles, CgoFiles []string
	Standard          bool
	Module            struct{ Main bool }
	Deps              []string
}

func (p pkg) files() (files []string) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		files = append(files, filepath.Join(p.Dir, name))
	}
	return files
}

// listLimit is how long the go command may take.
const listLimit = time.Minute

func packageTime(dir string, options []string) (string, error) {
	return first(dir, options, func(p pkg) (string, error) {
		for _, file := range p.files() {
			if where, err := firstCall(file); where != "" || err != nil {
				return where, err
			}
		}
		return "", nil
	})
}

// first searches the packages under test, each before those that it imports, and returns the first result. If the result is not from the
// package in dir, the import path is put before it.
func first(dir string, options []string, search func(pkg) (string, error)) (string, error) {
	all, _, err := underTest(dir, options)
	for _, p := range all {
		where, err := search(p)
		if where != "" && p.Dir != dir {
			where = base(p.ImportPath) + "/" + where
		}
		if where != "" || err != nil {
			return where, err
		}
	}
	return "", err
}

// listed is what go list has printed last. The go command takes some 0.3 s.
var listed struct {
	sync.Mutex
	of    string
	all   []pkg
	names map[string]string // of all packages, those that are not under test included
}

// underTest lists the packages under test, each before those that it imports, and the names of all packages, by their paths.
func underTest(dir string, options []string) (all []pkg, names map[string]string, err error) {
	if dir == "" {
		return nil, nil, errors.New("it is not known where its source is")
	}
	listed.Lock()
	defer listed.Unlock()
	if of := fmt.Sprintf("%q %q", dir, options); of != listed.of {
		all, err := list(dir, options)
		if err != nil {
			return nil, nil, err
		}
		listed.of, listed.names = of, map[string]string{}
		for _, p := range all {
			listed.names[base(p.ImportPath)] = p.Name
		}
		listed.all = searched(all)
	}
	return listed.all, listed.names, nil
}

// list lists the package in dir and all that it depends on.
func list(dir string, options []string) (all []pkg, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), listLimit)
	defer cancel()
	args := slices.Concat([]string{"list", "-deps", "-test", "-json=ImportPath,Name,Dir,GoFiles,CgoFiles,Standard,Module,Deps"}, options, []string{"."})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("there is no go command")
	}
	if err != nil {
		lines := strings.FieldsFunc(complaint.String(), func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' })
		return nil, fmt.Errorf("go list: %w: %s", err, strings.Join(lines[:min(3, len(lines))], " "))
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// searched takes the packages under test out of what go list has printed, each before those that it imports.
func searched(all []pkg) []pkg {
	ours := map[string]bool{}
	for _, p := range all {
		if base(p.ImportPath) == "lockstep/scenarios" {
			for _, d := range p.Deps {
				ours[base(d)] = true
			}
		}
	}
	all = slices.DeleteFunc(all, func(p pkg) bool {
		path := base(p.ImportPath)
		return p.Standard || ours[path] || strings.HasPrefix(path, "lockstep/") || strings.HasSuffix(path, ".test")
	})
	slices.Reverse(all)
	return all
}

// base removes from an import path the test for which the package was compiled: "p [q.test]" becomes "p".
func base(path string) string {
	path, _, _ = strings.Cut(path, " ")
	return path
}

// firstCall says where a file first mentions one of the clocks. It is empty if the file mentions none.
func firstCall(file string) (string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	imported := map[string]string{} // the path, by its name in the file
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		switch {
		case clocks[path] == nil:
		case name == ".": // its functions are called without the name of the package
			return fmt.Sprintf("%s:%d: import . %s", filepath.Base(file), set.Position(i.Pos()).Line, i.Path.Value), nil
		default:
			imported[name] = path
		}
	}
	where := ""
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || where != "" {
			return where == ""
		}
		if x, ok := s.X.(*ast.Ident); ok && slices.Contains(clocks[imported[x.Name]], s.Sel.Name) {
			where = fmt.Sprintf("%s:%d: %s.%s", filepath.Base(file), set.Position(s.Pos()).Line, x.Name, s.Sel.Name)
		}
		return true
	})
	return where, nil
}
