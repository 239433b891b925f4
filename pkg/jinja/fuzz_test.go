package jinja_test

import (
	"errors"
	"testing"
	"time"

	"github.com/orch-project/orch/pkg/jinja"
)

func seeds(f *testing.F) {
	for _, v := range readVectors(f, "testdata/vectors.jsonl") {
		f.Add(v.Template)
	}
}

// FuzzLex checks that no source makes Compile panic, hang or fail without a position.
func FuzzLex(f *testing.F) {
	seeds(f)
	e := jinja.New(jinja.Options{})
	f.Fuzz(func(t *testing.T, source string) {
		_, err := e.Compile(source)
		if err == nil {
			return
		}
		var je *jinja.Error
		if !errors.As(err, &je) || je.Type == "InternalError" {
			t.Fatalf("%q: %v", source, err)
		}
		if je.Kind != jinja.KindSyntax && je.Kind != jinja.KindBudget {
			t.Fatalf("%q: kind %s when compiling", source, je.Kind)
		}
		if je.Kind == jinja.KindSyntax && (je.Line < 1 || je.Column < 1) {
			t.Fatalf("%q: no place: %v", source, err)
		}
	})
}

// FuzzCompileRender checks that no template makes the engine panic or exceed its budget.
func FuzzCompileRender(f *testing.F) {
	seeds(f)
	vars, err := jinja.DecodeVars([]byte(`{"s":"héllo","l":[3,1,2],"d":{"b":1,"a":{"c":[1]}},"n":5,"f":2.5,"z":null,
		"big":123456789012345678901234567890,"users":[{"name":"Ann","age":31},{"name":"bob","age":25}],"body":{"items":[1,2]}}`))
	if err != nil {
		f.Fatal(err)
	}
	budget := jinja.DefaultBudget()
	budget.Timeout = -1
	e := jinja.New(jinja.Options{Undefined: jinja.Chainable, Budget: budget})
	f.Fuzz(func(t *testing.T, source string) {
		tpl, err := e.Compile(source)
		if err != nil {
			return
		}
		start := time.Now()
		out, err := tpl.Render(t.Context(), vars)
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("%q: took %v", source, took)
		}
		if len(out) > budget.OutputBytes {
			t.Fatalf("%q: output of %d bytes", source, len(out))
		}
		var je *jinja.Error
		if err != nil && (!errors.As(err, &je) || je.Type == "InternalError") {
			t.Fatalf("%q: %v", source, err)
		}
	})
}
