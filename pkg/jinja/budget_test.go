package jinja_test

import (
	"context"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// hostileBytes is the memory limit for a hostile template.
const hostileBytes = 64 << 20

// hostileEngine has no time limit: the count of steps and bytes must stop a hostile template on the slowest machine too.
// TestWorkIsCharged proves that the count is complete.
func hostileEngine() *jinja.Engine {
	return jinja.New(jinja.Options{Undefined: jinja.Chainable, Budget: jinja.Budget{Timeout: -1}})
}

// allocated returns the bytes allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestHostileTemplates must not run in parallel, because it measures the memory of the process.
func TestHostileTemplates(t *testing.T) {
	misses := knownMisses(t)
	e := hostileEngine()
	for _, v := range readVectors(t, "testdata/budget.jsonl") {
		t.Run(v.ID, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			total := allocated()
			out, err := renderVector(t.Context(), e, v)
			// The bytes allocated are an upper bound of the bytes in use.
			require.Less(t, allocated()-total, uint64(hostileBytes), "memory")
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "goroutines")
			if _, expected := misses[v.ID]; !v.Maybe && !expected {
				require.Error(t, err, "output of %d bytes", len(out))
			}
		})
	}
}

func TestBudgetIsEnforced(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, template string
		budget         jinja.Budget
	}{
		{"steps", "{% for i in range(1000) %}{% endfor %}", jinja.Budget{Steps: 100}},
		{"bytes", "{{ 'x' * 1000 }}", jinja.Budget{Bytes: 100}},
		{"output", "{% for i in range(100) %}xxxxxxxxxx{% endfor %}", jinja.Budget{OutputBytes: 100}},
		{"source", strings.Repeat("x", 101), jinja.Budget{SourceBytes: 100}},
		{"depth of calls", "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", jinja.Budget{Depth: 10}},
		{"depth of syntax", "{{ ((((((((((((1)))))))))))) }}", jinja.Budget{Depth: 10}},
		{"digits", "{{ 10 ** 200 > 0 }}", jinja.Budget{Digits: 100}},
		{"time", "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", jinja.Budget{Timeout: time.Nanosecond, Steps: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := jinja.New(jinja.Options{Budget: tt.budget})
			tpl, err := e.Compile(tt.template)
			if err == nil {
				_, err = tpl.Render(t.Context(), nil)
			}
			var je *jinja.Error
			require.ErrorAs(t, err, &je)
			require.Equal(t, jinja.KindBudget, je.Kind)
		})
	}
}

func TestRenderStopsWithItsContext(t *testing.T) {
	t.Parallel()
	tpl, err := jinja.New(jinja.Options{Budget: jinja.Budget{Steps: -1}}).Compile("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tpl.Render(ctx, nil)
	var je *jinja.Error
	require.ErrorAs(t, err, &je)
	require.Equal(t, jinja.KindBudget, je.Kind)
}
