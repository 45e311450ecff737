package ci

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// contexts are what an expression of GitHub Actions can name.
type contexts map[string]any

var expressions = regexp.MustCompile(`(?s)\$\{\{(.*?)\}\}`)

// text replaces the expressions in a text by their values.
func (r *job) text(s string) string {
	return expressions.ReplaceAllStringFunc(s, func(e string) string {
		return fmt.Sprint(r.value(strings.TrimPrefix(e, "${{")))
	})
}

// condition evaluates an if. A step without one, or with one that asks for no status, runs only if all steps before it have succeeded.
func (r *job) condition(s string) bool {
	if s == "" {
		return !r.failed
	}
	asks := regexp.MustCompile(`\b(always|cancelled|failure|success)\(\)`).MatchString(s)
	return truth(r.value(strings.TrimPrefix(s, "${{"))) && (asks || !r.failed)
}

func (r *job) value(expression string) any {
	if !strings.HasSuffix(expression, "}}") {
		expression += "}}"
	}
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(expression))
	if err != nil {
		r.t.Fatalf("%s: %v", expression, err)
	}
	return r.eval(node)
}

func (r *job) eval(node actionlint.ExprNode) any {
	switch n := node.(type) {
	case *actionlint.StringNode:
		return n.Value
	case *actionlint.IntNode:
		return strconv.Itoa(n.Value)
	case *actionlint.VariableNode:
		v, ok := r.contexts[n.Name]
		if !ok {
			r.t.Fatalf("no context has the name %s", n.Name)
		}
		return v
	case *actionlint.ObjectDerefNode:
		switch v := r.eval(n.Receiver).(type) {
		case contexts:
			if p, ok := v[n.Property]; ok {
				return p
			}
		case map[string]string:
			return v[n.Property]
		}
		return ""
	case *actionlint.NotOpNode:
		return !truth(r.eval(n.Operand))
	case *actionlint.LogicalOpNode:
		left := r.eval(n.Left)
		if truth(left) == (n.Kind == actionlint.LogicalOpNodeKindOr) {
			return left
		}
		return r.eval(n.Right)
	case *actionlint.CompareOpNode:
		left, right := fmt.Sprint(r.eval(n.Left)), fmt.Sprint(r.eval(n.Right))
		switch n.Kind {
		case actionlint.CompareOpNodeKindEq:
			return left == right
		case actionlint.CompareOpNodeKindNotEq:
			return left != right
		case actionlint.CompareOpNodeKindGreater:
			return must(strconv.Atoi(left)) > must(strconv.Atoi(right))
		}
	case *actionlint.FuncCallNode:
		var args []string
		for _, a := range n.Args {
			args = append(args, fmt.Sprint(r.eval(a)))
		}
		switch strings.ToLower(n.Callee) {
		case "always":
			return true
		case "cancelled":
			return false
		case "failure":
			return r.failed
		case "format":
			for i, a := range args[1:] {
				args[0] = strings.ReplaceAll(args[0], fmt.Sprintf("{%d}", i), a)
			}
			return args[0]
		case "hashfiles":
			if exists(filepath.Join(r.workspace, args[0])) {
				return "hash"
			}
			return ""
		}
	}
	r.t.Fatalf("an expression has what this test does not know: %#v", node)
	return nil
}

func truth(v any) bool { return v != false && v != "" }

func TestExpressions(t *testing.T) {
	r := &job{t: t, workspace: t.TempDir(), contexts: contexts{"inputs": map[string]string{"a": "x"}, "github": contexts{"run_attempt": "2"}}}
	for expression, want := range map[string]any{
		"inputs.a || 'y'":                  "x",
		"inputs.b || format('{0}/z', 'y')": "y/z",
		"github.run_attempt > 1":           true,
		"!cancelled() && inputs.b":         "",
		"hashFiles('none') != ''":          false,
		"inputs.a == 'x'":                  true,
		"failure() && inputs.a == 'x'":     false,
	} {
		if got := r.value(expression); got != want {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
}
