// Package source reads the source of the test that is running.
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
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// clocks are the functions by which code reads the clock of package time, or waits by it.
var clocks = map[string][]string{
	"time":                           {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"context":                        {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"github.com/jonboulle/clockwork": {"NewRealClock", "WithTimeout", "WithDeadline"},
}

// dir is the directory of the package under test, in which go test starts a test. The test may change it.
var dir string

func init() {
	if testing.Testing() {
		dir, _ = os.Getwd()
	}
}

// PackageTime says where the code under test mentions a function of package time, such as "lock.go:31: time.Now". It is empty if no
// code does, and in programs that are not tests. The code under test is the test and all packages on which it depends, except those
// of the standard library, of Lockstep, and those on which package scenarios depends, such as go-redis.
//
// The error says why the source cannot be read: it is not there, for example, or there is no go command.
var PackageTime = sync.OnceValues(func() (string, error) {
	if dir == "" {
		return "", nil
	}
	return packageTime(dir)
})

// pkg is what go list prints about a package.
type pkg struct {
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	Standard          bool
	Deps              []string
}

// listLimit is how long the go command may take.
const listLimit = time.Minute

func packageTime(dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), listLimit)
	defer cancel()
	args := []string{"list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,CgoFiles,Standard,Deps"}
	cmd := exec.CommandContext(ctx, "go", append(append(args, tags()...), ".")...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("there is no go command")
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return "", fmt.Errorf("go list: %w: %s", err, first)
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
		if clocks[path] != nil {
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

// tags returns the build tags of this program, as options of the go command.
func tags() []string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "-tags" && s.Value != "" {
				return []string{"-tags", s.Value}
			}
		}
	}
	return nil
}
