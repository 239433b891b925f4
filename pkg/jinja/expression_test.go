package jinja_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// push is what the expressions of these tests read.
const push = `{"body": {"action": "opened", "n": 3, "labels": ["bug", "ui"], "none": null, "items": []}, "method": "POST"}`

func TestExpressionsAreTestedAsIfTestsThem(t *testing.T) {
	t.Parallel()
	vars, err := jinja.DecodeVars([]byte(push))
	require.NoError(t, err)
	for source, want := range map[string]bool{
		`body.action == "opened"`:                    true,
		`body.action == "closed"`:                    false,
		` body.action in ("opened", "reopened") `:    true,
		"body.n > 2\nand\n'bug' in body.labels":      true,
		`not body.n`:                                 false,
		`body.missing.deeper`:                        false,
		`body.missing is defined`:                    false,
		`body.none`:                                  false,
		`body['items']`:                              false,
		`body.labels | select("eq", "ui") | list`:    true,
		`body.action.startswith("open")`:             true,
		`body.action ~ "" == "opened" if 1 else 0`:   true,
		`{"opened": true}[body.action]`:              true,
		`"x"`:                                        true,
		`0.0`:                                        false,
		`method == 'POST' and not body.none is none`: false,
		`body.action == "opened"` + "\r\n":           true,
		`range(0)`:                                   false,
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			e := jinja.New(jinja.Options{Undefined: jinja.Chainable})
			x, err := e.CompileExpression(source)
			require.NoError(t, err)
			got, err := x.Test(t.Context(), vars)
			require.NoError(t, err)
			require.Equal(t, want, got)
			text, err := render(t, jinja.Options{Undefined: jinja.Chainable}, "{% if ("+strings.TrimSpace(source)+") %}yes{% endif %}", vars)
			require.NoError(t, err)
			require.Equal(t, want, text == "yes", "an if statement agrees")
		})
	}
}

func TestExpressionsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source       string
		line, column int
		want         string
	}{
		"empty":              {"", 1, 1, "Expected an expression"},
		"blank":              {" \n ", 2, 2, "Expected an expression"},
		"cut":                {"body.a ==", 1, 10, "unexpected"},
		"second line":        {"body.a\nand )", 2, 5, "')'"},
		"two":                {"body.a body.b", 1, 8, "chunk after expression: 'body'"},
		"list without end":   {"[1, 2", 1, 6, "end of template"},
		"assignment":         {"body.a = 1", 1, 8, "chunk after expression: '='"},
		"delimiters":         {" {{ body.a }}", 1, 2, "write it without {{ }} and {% %}"},
		"statement":          {"{% if body.a %}1{% endif %}", 1, 1, "write it without {{ }} and {% %}"},
		"closing delimiters": {"body.a }} {{ body.b", 1, 8, "unexpected '}'"},
		"unknown filter":     {"body|nope", 1, 6, "nope"},
		"unknown test":       {"body is nope", 1, 6, "nope"},
		"tuple":              {"1, 2", 1, 2, "chunk after expression: ','"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jinja.New(jinja.Options{}).CompileExpression(c.source)
			at, ok := errors.AsType[*jinja.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, jinja.KindSyntax, at.Kind)
			require.Contains(t, at.Message, c.want)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{at.Line, at.Column}, at.Message)
		})
	}
}

func TestExpressionsThatFail(t *testing.T) {
	t.Parallel()
	vars, err := jinja.DecodeVars([]byte(push))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		source    string
		undefined jinja.Undefined
		kind      jinja.Kind
		line      int
	}{
		"type":      {"body.n\n> 'x'", jinja.Chainable, jinja.KindRuntime, 1},
		"division":  {"1 ==\n1 / 0", jinja.Chainable, jinja.KindRuntime, 2},
		"missing":   {"body.missing", jinja.Strict, jinja.KindUndefined, 1},
		"number":    {"body.missing > 1", jinja.Chainable, jinja.KindUndefined, 1},
		"long":      {"range(100000) | map('string') | map('length') | sum * range(100000) | length and range(99999) | sum and range(99999) | sum and range(99999) | sum and range(99999) | sum and range(99999) | sum and range(99999) | sum and range(99999)|sum", jinja.Chainable, jinja.KindBudget, 1},
		"large":     {"'x' * 10000000000", jinja.Chainable, jinja.KindBudget, 1},
		"immutable": {"body.labels.append(1)", jinja.Chainable, jinja.KindRuntime, 1},
		"deep":      {strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), jinja.Chainable, jinja.KindBudget, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget := jinja.DefaultBudget()
			budget.Timeout = -1
			x, err := jinja.New(jinja.Options{Undefined: c.undefined, Budget: budget}).CachedExpression(c.source)
			if err == nil {
				_, err = x.Test(t.Context(), vars)
			}
			at, ok := errors.AsType[*jinja.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.kind, at.Kind, "%v", err)
			require.Equal(t, c.line, at.Line, "%v", err)
		})
	}
}

func TestExpressionsAreCompiledOnceAndNameWhatTheyRead(t *testing.T) {
	t.Parallel()
	e := jinja.New(jinja.Options{})
	first, err := e.CachedExpression("body.a and not path")
	require.NoError(t, err)
	again, err := e.CachedExpression("body.a and not path")
	require.NoError(t, err)
	require.Same(t, first, again)
	_, err = e.Cached("body.a and not path")
	require.NoError(t, err, "as a template it is a text")
	for name, want := range map[string]bool{"body": true, "path": true, "headers": false} {
		require.Equal(t, want, first.Reads(name), name)
	}
}

// FuzzExpression checks that no expression makes the engine panic, and that it agrees with an if statement of its source.
func FuzzExpression(f *testing.F) {
	for _, source := range []string{`body.action == "opened"`, `body.n > 2 and 'bug' in body.labels`, `{{ x }}`, `a|b(`, `1 if`, `x is divisibleby 3`, `%}`} {
		f.Add(source)
	}
	vars, err := jinja.DecodeVars([]byte(push))
	if err != nil {
		f.Fatal(err)
	}
	budget := jinja.DefaultBudget()
	budget.Timeout = -1
	e := jinja.New(jinja.Options{Undefined: jinja.Chainable, Budget: budget})
	f.Fuzz(func(t *testing.T, source string) {
		x, err := e.CompileExpression(source)
		if err != nil {
			at, ok := errors.AsType[*jinja.Error](err)
			if !ok || at.Type == "InternalError" || at.Line < 1 && at.Kind == jinja.KindSyntax {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		holds, err := x.Test(t.Context(), vars)
		if at, ok := errors.AsType[*jinja.Error](err); err != nil && (!ok || at.Type == "InternalError" || at.Line < 1) {
			t.Fatalf("%q: %v", source, err)
		}
		if strings.Contains(source, "random") || strings.Contains(source, "lipsum") {
			return // Another value each time.
		}
		template, err2 := e.Compile("{% if (" + source + ") %}yes{% endif %}")
		if err2 != nil {
			return // It has a delimiter, or a name that templates keep for themselves.
		}
		text, err2 := template.Render(t.Context(), vars)
		if (err == nil) != (err2 == nil) || err == nil && holds != (text == "yes") {
			t.Fatalf("%q: %v %v, as a statement %q %v", source, holds, err, text, err2)
		}
	})
}
