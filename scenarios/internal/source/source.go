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
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	Standard          bool
	Deps              []string
}

// listLimit is how long the go command may take.
const listLimit = time.Minute

func packageTime(dir string, options []string) (string, error) {
	if dir == "" {
		return "", errors.New("it is not known where its source is")
	}
	ctx, cancel := context.WithTimeout(context.Background(), listLimit)
	defer cancel()
	args := slices.Concat([]string{"list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,CgoFiles,Standard,Deps"}, options, []string{"."})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("there is no go command")
	}
	if err != nil {
		lines := strings.FieldsFunc(complaint.String(), func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' })
		return "", fmt.Errorf("go list: %w: %s", err, strings.Join(lines[:min(3, len(lines))], " "))
	}
	var all []pkg
	ours := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return "", fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
		if base(p.ImportPath) == "lockstep/scenarios" {
			for _, d := range p.Deps {
				ours[base(d)] = true
			}
		}
	}
	for _, p := range slices.Backward(all) { // a package comes after those that it imports
		path := base(p.ImportPath)
		if p.Standard || ours[path] || strings.HasPrefix(path, "lockstep/") || strings.HasSuffix(path, ".test") {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			where, err := firstCall(filepath.Join(p.Dir, name))
			if err != nil {
				return "", err
			}
			if where == "" {
				continue
			}
			if p.Dir != dir {
				where = path + "/" + where
			}
			return where, nil
		}
	}
	return "", nil
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
