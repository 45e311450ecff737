//go:build !js

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
	"strings"
)

// Shared returns something that clients in one process share, and that processes on different machines do not share, such as
// "lock.go:12: next"; empty if there is nothing. It is a package variable that the code under test may change while it runs, or whose first
// value comes from a call that may return something else in another process; or it is a call of os.Hostname. Of the packages that
// [MayCallPackageTime] searches, Shared searches those of the module under test.
func Shared(dir string, options []string) (string, error) {
	all, names, err := underTest(dir, options)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(p pkg) bool { return !p.Module.Main })
	// The package of a test inside a package has all files of that package.
	for _, p := range all {
		if p.ImportPath != base(p.ImportPath) {
			all = slices.DeleteFunc(all, func(q pkg) bool { return q.ImportPath == base(p.ImportPath) })
		}
	}
	v := newVariables(names)
	for _, p := range slices.Backward(all) { // those that others import come first
		if err := v.read(base(p.ImportPath), p.files()); err != nil {
			return "", err
		}
	}
	x := v.find()
	if x == nil {
		return "", nil
	}
	at := v.set.Position(x.pos)
	where := fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, x.name)
	if filepath.Dir(at.Filename) != dir {
		where = x.pkg.Path() + "/" + where
	}
	return where, nil
}

// stateful lists packages with types whose methods change their values.
var stateful = []string{"sync", "sync/atomic", "math/rand", "math/rand/v2", "math/big", "bytes", "container/list", "container/ring", "golang.org/x/sync/", "golang.org/x/time/rate"}

// random lists what the path of a package contains whose functions return something else in each process, even with arguments.
var random = []string{"rand", "uuid", "ulid", "xid", "nanoid", "ksuid"}

// alike lists packages whose functions without arguments return the same in each process.
var alike = []string{"context", "log", "log/slog"}

// beforeRuns are functions that set variables before the first run of a lock.
var beforeRuns = []string{"init", "main", "TestMain"}

// variables holds what is known about the packages of one module.
type variables struct {
	set      *token.FileSet
	info     *types.Info
	names    map[string]string         // of packages, by their paths
	packages map[string]*types.Package // that have been read, by their paths
	files    []*ast.File
	declared map[types.Object]*ast.FuncDecl
	first    map[types.Object]ast.Expr     // the first values of variables
	mentions map[types.Object]bool         // variables whose declaration mentions a package that is stateful
	made     map[types.Object]bool         // variables whose first value is what a call returns
	differs  map[types.Object]bool         // and may be something else in each process
	values   map[types.Object]types.Object // the types of the first values of variables
	changing map[types.Object]bool         // types with a method that changes what its receiver points to
	found    map[*types.Package]*shared
}

// shared is what clients in one process share.
type shared struct {
	pkg  *types.Package // in which it is declared or called
	pos  token.Pos
	name string
}

func newVariables(names map[string]string) *variables {
	return &variables{
		set:   token.NewFileSet(),
		info:  &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
		names: names, packages: map[string]*types.Package{},
		declared: map[types.Object]*ast.FuncDecl{}, first: map[types.Object]ast.Expr{},
		mentions: map[types.Object]bool{}, made: map[types.Object]bool{}, differs: map[types.Object]bool{}, changing: map[types.Object]bool{}, values: map[types.Object]types.Object{},
		found: map[*types.Package]*shared{},
	}
}

// Import returns a package that has been read, or else an empty one: then the types of what it declares are unknown.
func (v *variables) Import(path string) (*types.Package, error) {
	if p := v.packages[path]; p != nil {
		return p, nil
	}
	p := types.NewPackage(path, cmp.Or(v.names[path], path[strings.LastIndexByte(path, '/')+1:]))
	p.MarkComplete()
	return p, nil
}

// read reads a package that imports nothing of the module that has not been read.
func (v *variables) read(path string, names []string) error {
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(v.set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	// The errors that follow from what is unknown do not matter.
	v.packages[path], _ = (&types.Config{Importer: v, Error: func(error) {}, FakeImportC: true}).Check(path, v.set, files, v.info)
	v.files = append(v.files, files...)
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				v.declared[v.info.Defs[d.Name]] = d
			case *ast.GenDecl:
				for _, s := range d.Specs {
					v.declare(s)
				}
			}
		}
	}
	return nil
}

// declare notes what a declaration says about a variable or a type.
func (v *variables) declare(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for i, name := range s.Names {
			var value ast.Expr
			switch {
			case i < len(s.Values):
				value = s.Values[i]
			case len(s.Values) == 1: // several results of one call
				value = s.Values[0]
			}
			of := v.info.Defs[name]
			if value != nil {
				v.values[of] = named(v.info.TypeOf(value))
			}
			v.mentions[of] = v.mentionsState(s.Type) || v.mentionsState(value)
			v.first[of] = value
		}
	case *ast.TypeSpec:
		if v.mentionsState(s.Type) {
			v.changing[v.info.Defs[s.Name]] = true
		}
	}
}

// mentionsState reports whether an expression mentions a package whose types have state.
func (v *variables) mentionsState(e ast.Expr) (found bool) {
	if e == nil {
		return false
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			path := v.imported(s.X)
			found = found || slices.ContainsFunc(stateful, func(p string) bool { return p == path || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) })
		}
		return !found
	})
	return found
}

// imported returns the path of the package that an expression names; empty if it names none.
func (v *variables) imported(e ast.Expr) string {
	if x, ok := e.(*ast.Ident); ok {
		if p, ok := v.info.Uses[x].(*types.PkgName); ok {
			return p.Imported().Path()
		}
	}
	return ""
}

// calls reports whether the value of a variable is made by a call, and whether that may return something else in each process. A call that is
// fixed counts as a function literal.
func (v *variables) calls(value ast.Expr) (calls, differs bool) {
	if value == nil {
		return false, false
	}
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // it is called later, if at all
		case *ast.CallExpr:
			if t := v.info.Types[n.Fun]; t.IsType() || t.IsBuiltin() || v.fixed(n) {
				return true
			}
			calls = true
			differs = differs || v.mayDiffer(n)
		}
		return true
	})
	return calls, differs
}

// fixed reports whether a call makes a function that keeps nothing which clients could share: it calls a function of the module that only
// returns a function literal, which does not change the parameters, and neither these nor the arguments are more than functions and copies.
func (v *variables) fixed(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return false
	}
	f := v.declared[v.info.Uses[name]]
	if f == nil || f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	returns, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(returns.Results) != 1 {
		return false
	}
	made, ok := returns.Results[0].(*ast.FuncLit)
	if !ok {
		return false
	}
	parameters := map[types.Object]bool{}
	for _, field := range f.Type.Params.List {
		if v.mentionsState(field.Type) || !v.copied(v.info.TypeOf(field.Type)) {
			return false
		}
		for _, name := range field.Names {
			parameters[v.info.Defs[name]] = true
		}
	}
	keeps := false
	ast.Inspect(made.Body, func(n ast.Node) bool {
		for _, e := range v.written(n) {
			keeps = keeps || parameters[v.object(e)]
		}
		return !keeps
	})
	for _, a := range call.Args {
		keeps = keeps || !v.copied(v.info.TypeOf(a)) || v.mentionsState(a)
		ast.Inspect(a, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false // its body is searched like that of any function
			case *ast.Ident:
				switch of := v.info.Uses[n].(type) {
				case *types.Var:
					keeps = keeps || !of.IsField()
				case *types.Func: // a method value keeps its receiver
					keeps = keeps || of.Signature().Recv() != nil
				}
			}
			return true
		})
	}
	return !keeps
}

// copied reports whether a value of a type is a copy that shares nothing with the original. An unknown type counts as one.
func (v *variables) copied(t types.Type) bool {
	if v.changing[named(t)] {
		return false
	}
	switch t := underlying(t).(type) {
	case *types.Pointer:
		return underlying(t.Elem()) == types.Typ[types.Invalid]
	case *types.Map, *types.Slice, *types.Chan, *types.Interface:
		return false
	case *types.Array:
		return v.copied(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if !v.copied(f.Type()) {
				return false
			}
		}
	}
	return true
}

// mayDiffer reports whether a call may return something else in each process.
func (v *variables) mayDiffer(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return true // a function of the package, or one without a name
	}
	path := v.imported(s.X)
	switch {
	case path == "": // a method
		return v.inModule(v.info.Uses[s.Sel])
	case v.packages[path] != nil, slices.ContainsFunc(random, func(r string) bool { return strings.Contains(path, r) }):
		return true
	}
	return len(call.Args) == 0 && !slices.Contains(alike, path)
}

func (v *variables) inModule(of types.Object) bool {
	return of != nil && of.Pkg() != nil && v.packages[of.Pkg().Path()] == of.Pkg()
}

// find returns what is shared in the package that was read last of those in which something is; in that package, the first. It is nil if there
// is nothing.
func (v *variables) find() *shared {
	for n := -1; n < len(v.changing); { // until no other type is found
		n = len(v.changing)
		v.functions(func(f *ast.FuncDecl, body *ast.BlockStmt) {
			if f != nil && f.Recv != nil {
				v.method(f)
			}
		})
	}
	for of, value := range v.first {
		v.made[of], v.differs[of] = v.calls(value)
	}
	before := func(f *ast.FuncDecl) bool {
		return f != nil && f.Recv == nil && slices.Contains(beforeRuns, f.Name.Name)
	}
	v.functions(func(f *ast.FuncDecl, body *ast.BlockStmt) {
		if before(f) {
			ast.Inspect(body, v.setBefore)
		}
	})
	v.functions(func(f *ast.FuncDecl, body *ast.BlockStmt) {
		if !before(f) {
			ast.Inspect(body, v.visit)
		}
	})
	var last *shared
	for _, x := range v.found {
		if last == nil || x.pos > last.pos {
			last = x
		}
	}
	return last
}

// functions calls each with every function that is declared, and with the body of every function in the value of a variable.
func (v *variables) functions(each func(f *ast.FuncDecl, body *ast.BlockStmt)) {
	for _, f := range v.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					each(d, d.Body)
				}
			case *ast.GenDecl:
				ast.Inspect(d, func(n ast.Node) bool {
					if f, ok := n.(*ast.FuncLit); ok {
						each(nil, f.Body)
						return false
					}
					return true
				})
			}
		}
	}
}

// method notes the type of a method that changes what its receiver points to.
func (v *variables) method(f *ast.FuncDecl) {
	if len(f.Recv.List) != 1 || len(f.Recv.List[0].Names) != 1 {
		return
	}
	receiver := v.info.Defs[f.Recv.List[0].Names[0]]
	if receiver == nil {
		return
	}
	switch underlying(receiver.Type()).(type) {
	case *types.Pointer, *types.Map, *types.Slice, *types.Chan:
	default:
		return // it is a copy
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		for _, e := range v.written(n) {
			if of := named(receiver.Type()); of != nil && v.object(e) == receiver {
				v.changing[of] = true
			}
		}
		return true
	})
}

// written lists the expressions whose value a statement or an expression may change, or of which it takes the address.
func (v *variables) written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if _, ok := underlying(v.info.TypeOf(n.X)).(*types.Chan); ok {
			return []ast.Expr{n.X}
		}
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
		return v.changedBy(n)
	}
	return nil
}

// changedBy lists what a call may change: what a method is called of, if its type has state; and maps and pointers to such types that a function
// gets.
func (v *variables) changedBy(call *ast.CallExpr) (all []ast.Expr) {
	t := v.info.Types[call.Fun]
	if t.IsType() {
		return nil
	}
	if f, ok := call.Fun.(*ast.Ident); ok && t.IsBuiltin() {
		if len(call.Args) > 0 && slices.Contains([]string{"delete", "clear", "close", "copy"}, f.Name) {
			return call.Args[:1]
		}
		return nil
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if v.mentions[v.object(f.X)] || v.changing[named(v.info.TypeOf(f.X))] {
			all = append(all, f.X)
		}
	case *ast.Ident: // a function in a variable, with what it keeps
		if of := v.info.Uses[f]; v.mentions[of] || v.made[of] {
			all = append(all, f)
		}
	}
	for _, a := range call.Args {
		t := v.info.TypeOf(a)
		if _, ok := underlying(t).(*types.Map); ok || v.changing[named(t)] {
			all = append(all, a)
		}
	}
	return all
}

// visit notes the variables that a statement or an expression changes, those that it uses although they may differ between processes or have a
// type that changes, and calls of os.Hostname.
func (v *variables) visit(n ast.Node) bool {
	for _, e := range v.written(n) {
		v.note(v.object(e))
	}
	switch n := n.(type) {
	case *ast.Ident:
		if of := v.info.Uses[n]; v.differs[of] || of != nil && (v.changing[v.values[of]] || v.changing[named(of.Type())]) {
			v.note(of)
		}
	case *ast.SelectorExpr:
		if n.Sel.Name == "Hostname" && v.imported(n.X) == "os" {
			v.keep(&shared{v.info.Uses[n.X.(*ast.Ident)].Pkg(), n.Pos(), "os.Hostname"})
		}
	}
	return true
}

// setBefore notes what differs between processes because a function sets it before the first run.
func (v *variables) setBefore(n ast.Node) bool {
	if a, ok := n.(*ast.AssignStmt); ok && a.Tok != token.DEFINE {
		for i, e := range a.Lhs {
			if _, differs := v.calls(a.Rhs[min(i, len(a.Rhs)-1)]); differs {
				if of := v.object(e); of != nil {
					v.differs[of] = true
				}
			}
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
			if v.imported(x.X) != "" {
				return v.info.Uses[x.Sel] // a variable of another package
			}
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// underlying returns the type of which a type is made; nil if the type is not known.
func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return types.Unalias(t).Underlying()
}

// named returns the type, or the type that a pointer points to, if it has a name.
func named(t types.Type) types.Object {
	if t == nil {
		return nil
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Origin().Obj()
	}
	return nil
}

// note keeps a variable of a package that was read.
func (v *variables) note(of types.Object) {
	x, ok := of.(*types.Var)
	if !ok || !v.inModule(x) || x.Parent() != x.Pkg().Scope() {
		return
	}
	v.keep(&shared{x.Pkg(), x.Pos(), x.Name()})
}

func (v *variables) keep(x *shared) {
	if was := v.found[x.pkg]; was == nil || x.pos < was.pos {
		v.found[x.pkg] = x
	}
}
