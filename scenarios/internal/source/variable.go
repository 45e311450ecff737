package source

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Variable returns a package variable that the code under test changes while it runs, such as "lock.go:12: next"; empty if there is none. Of the
// packages that [MayCallPackageTime] searches, it searches those of the module under test.
func Variable(dir string, options []string) (string, error) {
	return first(dir, options, func(p pkg) (string, error) {
		if !p.Module.Main {
			return "", nil
		}
		return changed(p.files(), p.Module.Path)
	})
}

// stateful lists packages with types whose methods change their values.
var stateful = []string{"sync", "sync/atomic", "math/rand", "math/rand/v2", "container/list", "container/ring", "golang.org/x/sync/", "golang.org/x/time/rate"}

// beforeRuns are functions that set variables before the first run of a lock.
var beforeRuns = []string{"init", "main", "TestMain"}

// variables holds what is known about the variables of one package.
type variables struct {
	module   string // in which the types of all packages may have state
	info     *types.Info
	scope    *types.Scope
	imported map[string]string     // paths, by the names that they have in the files
	mentions map[types.Object]bool // whether the declaration mentions a package that is stateful
	changing map[string]bool       // types of the package with a method that changes what its receiver points to
	first    types.Object
}

// changed returns the first variable of a package, in a module, that one of its functions changes.
func changed(names []string, module string) (string, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		files = append(files, f)
	}
	v := &variables{
		module:   module,
		info:     &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
		imported: map[string]string{}, mentions: map[types.Object]bool{}, changing: map[string]bool{},
	}
	// Imported packages are not read, so their types are unknown. The type errors that follow from this do not matter.
	checked, _ := (&types.Config{Error: func(error) {}, FakeImportC: true}).Check("lock", set, files, v.info)
	v.scope = checked.Scope()
	for _, f := range files {
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			name := strings.TrimSuffix(path, "/v2")
			name = name[strings.LastIndexByte(name, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			v.imported[name] = path
		}
	}
	v.declarations(files)
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil && (d.Recv != nil || !slices.Contains(beforeRuns, d.Name.Name)) {
					ast.Inspect(d.Body, v.visit)
				}
			case *ast.GenDecl:
				ast.Inspect(d, func(n ast.Node) bool {
					if f, ok := n.(*ast.FuncLit); ok {
						ast.Inspect(f.Body, v.visit)
					}
					return true
				})
			}
		}
	}
	if v.first == nil {
		return "", nil
	}
	at := set.Position(v.first.Pos())
	return fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, v.first.Name()), nil
}

// declarations finds the variables and the types whose state a call of a method changes.
func (v *variables) declarations(files []*ast.File) {
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for i, name := range s.Names {
							parts := []ast.Node{s.Type}
							if i < len(s.Values) {
								parts = append(parts, s.Values[i])
							}
							v.mentions[v.info.Defs[name]] = v.mentionsState(parts...)
						}
					case *ast.TypeSpec:
						v.changing[s.Name.Name] = v.changing[s.Name.Name] || v.mentionsState(s.Type)
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || d.Body == nil || len(d.Recv.List) != 1 || len(d.Recv.List[0].Names) != 1 {
					continue
				}
				pointer, ok := d.Recv.List[0].Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				receiver := v.info.Defs[d.Recv.List[0].Names[0]]
				ast.Inspect(d.Body, func(n ast.Node) bool {
					for _, e := range written(n) {
						if of := v.object(e); of != nil && of == receiver {
							v.changing[types.ExprString(pointer.X)] = true
						}
					}
					return true
				})
			}
		}
	}
}

// mentionsState reports whether a declaration mentions a package whose types have state.
func (v *variables) mentionsState(parts ...ast.Node) (found bool) {
	for _, part := range parts {
		if e, ok := part.(ast.Expr); !ok || e == nil {
			continue
		}
		ast.Inspect(part, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					path := v.imported[x.Name]
					found = found || v.module != "" && strings.HasPrefix(path+"/", v.module+"/") ||
						slices.ContainsFunc(stateful, func(p string) bool { return p == path || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) })
				}
			}
			return true
		})
	}
	return found
}

// written lists the expressions whose value a statement or an expression changes, or of which it takes the address.
func written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.SendStmt:
		return []ast.Expr{n.Chan}
	case *ast.UnaryExpr:
		if n.Op == token.AND || n.Op == token.ARROW {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "close", "copy"}, f.Name) {
			return n.Args[:1]
		}
	}
	return nil
}

// visit notes the variable that a statement or an expression changes.
func (v *variables) visit(n ast.Node) bool {
	for _, e := range written(n) {
		v.note(v.object(e))
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return true
	}
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		if of := v.object(f.X); of != nil && (v.mentions[of] || v.changing[named(of.Type())]) {
			v.note(of)
		}
	}
	return true
}

// object returns the variable that an expression is a part of; nil if it is a part of none.
func (v *variables) object(e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return cmp.Or(v.info.Uses[x], v.info.Defs[x])
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// named returns the name of a type, or of the type that a pointer points to; empty if it has none.
func named(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// note keeps the first variable of the package that is changed.
func (v *variables) note(of types.Object) {
	if x, ok := of.(*types.Var); !ok || x.Parent() != v.scope || v.first != nil && v.first.Pos() <= x.Pos() {
		return
	}
	v.first = of
}
