// Mutants finds changes that the tests do not notice. It changes one thing at a time in the code of a package, runs the tests of that
// package and, if they pass, those of the catalogue, of its explanations, and of blame. It prints the mutants that survive, and counts
// those that are killed.
//
//	go run ./cmd/mutants [-n 20] [-seed 1] [-at FILE[:LINE]] [-skip REGEXP] [-with PACKAGE] [-timeout 1m] PACKAGE...
//
// No file is changed: the compiler reads a mutant from an overlay. A mutant that does not compile is replaced by another. One whose tests
// take longer than the timeout counts as killed. Statements that only panic are not mutated, because a panic reports our own mistakes.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
}

// A mutant is a file in which the bytes between from and to are replaced.
type mutant struct {
	file, function string
	line, from, to int
	text, what     string
}

type options struct {
	n, seed  int
	at, skip string
	with     string
	timeout  time.Duration
}

func run(args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&o.n, "n", 20, "how many mutants to make of each package")
	flags.IntVar(&o.seed, "seed", 1, "which mutants to make")
	flags.StringVar(&o.at, "at", "", "only mutants of this `FILE` or FILE:LINE, such as clock.go:61")
	flags.StringVar(&o.skip, "skip", "", "leave out tests of the package that match `REGEXP`, such as those that fail on a busy machine")
	flags.StringVar(&o.with, "with", "", "run the tests of this `PACKAGE`, too, such as ./checker for mutants of ./checker/facts")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "how long the tests of one mutant may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() == 0:
		return errors.New("name at least one package, such as ./checker")
	case o.n < 1:
		return fmt.Errorf("-n %d: at least 1 is required", o.n)
	case o.timeout <= 0:
		return fmt.Errorf("-timeout %v: more than 0 is required", o.timeout)
	}
	list := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,GoFiles,Module", "--"}, flags.Args()...)...)
	list.Stderr = progress
	data, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", strings.Join(flags.Args(), " "), err)
	}
	table := ""
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		killed, tried, err := p.hunt(o, out, progress)
		if err != nil {
			return err
		}
		table += fmt.Sprintf("%-24s %d killed of %d\n", p.ImportPath, killed, tried)
	}
	_, err = io.WriteString(out, table)
	return err
}

type pkg struct {
	Dir, ImportPath string
	GoFiles         []string
	Module          struct{ Dir string }
}

// hunt makes mutants of a package, prints those that survive, and counts them.
func (p pkg) hunt(o options, out, progress io.Writer) (killed, tried int, err error) {
	var all []mutant
	sources := map[string][]byte{} // the files as they are now, even if they are edited meanwhile
	for _, name := range p.GoFiles {
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return 0, 0, err
		}
		sources[name] = src
		found, err := mutants(name, src)
		if err != nil {
			return 0, 0, err
		}
		for _, m := range found {
			if o.at == "" || o.at == m.file || o.at == fmt.Sprintf("%s:%d", m.file, m.line) {
				all = append(all, m)
			}
		}
	}
	if len(all) == 0 {
		return 0, 0, fmt.Errorf("there is nothing to mutate in %s at %s", p.ImportPath, cmp.Or(o.at, "any line"))
	}
	shuffle(all, o.seed)
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	if failed := p.test(o); failed != "" {
		return 0, 0, fmt.Errorf("the tests fail without a mutant:\n%s", failed)
	}
	for _, m := range all {
		if tried == o.n {
			break
		}
		file, changed, overlay := filepath.Join(p.Dir, m.file), filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
		replace, _ := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
		if err := errors.Join(os.WriteFile(changed, m.apply(sources[m.file]), 0o644), os.WriteFile(overlay, replace, 0o644)); err != nil {
			return 0, 0, err
		}
		failed := p.test(o, "-overlay", overlay)
		if strings.Contains(failed, "[build failed]") {
			continue
		}
		tried++
		if failed == "" {
			short, _ := filepath.Rel(p.Module.Dir, file)
			fmt.Fprintf(out, "%s:%d %s: %s\n", filepath.ToSlash(short), m.line, m.function, m.what)
		} else {
			killed++
		}
		fmt.Fprintf(progress, "%s: %d killed of %d\n", p.ImportPath, killed, tried)
	}
	return killed, tried, nil
}

func (m mutant) apply(src []byte) []byte {
	return slices.Concat(src[:m.from], []byte(m.text), src[m.to:])
}

// test runs the tests of the package, then those of its users, and returns the output of a test that failed.
func (p pkg) test(o options, flags ...string) (failed string) {
	own := []string{"-skip", o.skip, p.ImportPath}
	if o.with != "" {
		own = append(own, o.with)
	}
	for _, which := range [][]string{own, {"-run", "^Test(Catalogue|CatalogueIsExplained|Blamed)$", "./scenarios", "./scenarios/search"}} {
		c := exec.Command("go", slices.Concat([]string{"test", "-vet=off", "-count=1", "-failfast", "-timeout", o.timeout.String()}, flags, which)...)
		c.Dir = p.Module.Dir
		c.Env = append(os.Environ(), "RAPID_NOFAILFILE=1") // rapid would write into the tree
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Sprintf("%s\n%v", out, err)
		}
	}
	return ""
}

// shuffle orders mutants by the seed and by what each of them is, so that changes elsewhere in the code leave a sample as it is.
func shuffle(all []mutant, seed int) {
	rank, same := map[mutant]string{}, map[string]int{}
	for _, m := range all {
		what := m.file + m.function + m.what
		sum := sha256.Sum256(fmt.Append(nil, seed, what, same[what]))
		rank[m] = string(sum[:])
		same[what]++
	}
	slices.SortFunc(all, func(a, b mutant) int { return cmp.Compare(rank[a], rank[b]) })
}

var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
}

// mutants lists what can be changed in a file.
func mutants(name string, src []byte) (list []mutant, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	source := func(n ast.Node) string { return string(src[offset(n.Pos()):offset(n.End())]) }
	for _, d := range file.Decls {
		function := "(package)"
		if f, ok := d.(*ast.FuncDecl); ok {
			function = f.Name.Name
			if f.Recv != nil {
				function = strings.TrimPrefix(source(f.Recv.List[0].Type), "*") + "." + function
			}
		}
		change := func(n ast.Node, text, what string) {
			if head, _, more := strings.Cut(what, "\n"); more {
				what = head + " …`"
			}
			list = append(list, mutant{name, function, fset.Position(n.Pos()).Line, offset(n.Pos()), offset(n.End()), text, what})
		}
		remove := func(statements ...ast.Stmt) {
			for _, s := range statements {
				_, declares := s.(*ast.DeclStmt) // without a declaration, names would be unknown
				if a, ok := s.(*ast.AssignStmt); !declares && !panics(s) && (!ok || a.Tok != token.DEFINE) {
					change(s, "", "without `"+source(s)+"`")
				}
			}
		}
		negate := func(cond ast.Expr) {
			if cond != nil {
				change(cond, "!("+source(cond)+")", "not `"+source(cond)+"`")
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if panics(n) {
				return false
			}
			switch n := n.(type) {
			case *ast.BlockStmt: // also the block of a switch, whose statements are its cases
				remove(n.List...)
			case *ast.CaseClause:
				remove(n.Body...)
			case *ast.CommClause:
				remove(n.Body...)
			case *ast.IfStmt:
				negate(n.Cond)
			case *ast.ForStmt:
				negate(n.Cond)
			case *ast.BinaryExpr:
				x, y := source(n.X), source(n.Y)
				if to, ok := swaps[n.Op]; ok {
					change(n, fmt.Sprintf("((%s) %s (%s))", x, to, y), fmt.Sprintf("`%s` → `%s` in `%s`", n.Op, to, source(n)))
				}
				if n.Op == token.LAND || n.Op == token.LOR {
					change(n, "("+y+")", fmt.Sprintf("without `%s %s`", x, n.Op))
					change(n, "("+x+")", fmt.Sprintf("without `%s %s`", n.Op, y))
				}
			case *ast.BasicLit:
				if i, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
					to := strconv.Itoa(i + 1)
					if i == 1 {
						to = "0"
					}
					change(n, to, fmt.Sprintf("`%s` → `%s`", n.Value, to))
				}
			case *ast.Ident:
				if to := map[string]string{"true": "false", "false": "true"}[n.Name]; to != "" {
					change(n, to, fmt.Sprintf("`%s` → `%s`", n.Name, to))
				}
			}
			return true
		})
	}
	return list, nil
}

// panics reports whether a statement only panics, perhaps on a condition.
func panics(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		return n.Else == nil && len(n.Body.List) == 1 && panics(n.Body.List[0])
	case *ast.ExprStmt:
		c, ok := n.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := c.Fun.(*ast.Ident)
		return ok && f.Name == "panic"
	}
	return false
}
