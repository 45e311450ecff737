package course

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lockstep/sim/history"
)

// A rule names functions that a solution must not call, and says why.
type rule struct {
	path string // of their package
	is   func(name string) bool
	why  string
}

func oneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// forbidden lists the calls in a file that a solution must not have, each with its line. A simulated process cannot be paused in package
// time, nor can its clock be wrong there, so the runs would not show what is wrong with such a lock. The other calls are of
// somebody else's solution.
func (e *Exercise) forbidden(file string) ([]string, error) {
	rules := []rule{
		{"time", oneOf("Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"),
			"use the clock of the process, which is l.env.Clock in a method of the lock, and l.lock.env.Clock in one of a lease"},
		{"context", oneOf("WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"),
			"it counts real time, and the client is simulated; use context.WithCancel, and the clock of the process"},
		{"lockstep/clients", func(name string) bool { return strings.HasPrefix(name, "New") }, "write the lock yourself"},
		{"lockstep/clients/given", func(name string) bool {
			return !slices.Contains(e.With, name) && !slices.Contains([]string{"ErrUnsolved", "ErrTaken", "Nodes"}, name)
		}, "of this package the exercise allows only " + history.List(e.With)},
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		return nil, err
	}
	paths := map[string]string{} // by the names of the imports in the file
	for _, i := range tree.Imports {
		path, _ := strconv.Unquote(i.Path.Value) // it has been parsed
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		paths[name] = path
	}
	var all []string
	ast.Inspect(tree, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, r := range rules {
			if paths[of.Name] == r.path && r.is(s.Sel.Name) {
				at := files.Position(s.Pos())
				all = append(all, fmt.Sprintf("%s:%d: a solution must not use %s.%s: %s", filepath.Base(file), at.Line, of.Name, s.Sel.Name, r.why))
			}
		}
		return true
	})
	return all, nil
}
