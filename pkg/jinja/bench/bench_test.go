package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/jinja"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The minimum ratios of CPython's time to the engine's.
const (
	minRender  = 4.0
	minCompile = 20.0
)

type benchCase struct {
	name   string
	source string
	vars   jinja.Vars
}

func cases(tb testing.TB) []benchCase {
	tb.Helper()
	names, err := filepath.Glob("cases/*.j2")
	require.NoError(tb, err)
	var out []benchCase
	for _, n := range names {
		source, err := os.ReadFile(n)
		require.NoError(tb, err)
		data, err := os.ReadFile(strings.TrimSuffix(n, ".j2") + ".json")
		require.NoError(tb, err)
		vars, err := jinja.DecodeVars(data)
		require.NoError(tb, err)
		out = append(out, benchCase{strings.TrimSuffix(filepath.Base(n), ".j2"), string(source), vars})
	}
	return out
}

func engine() *jinja.Engine { return jinja.New(jinja.Options{Undefined: jinja.Chainable}) }

func compileLoop(e *jinja.Engine, c benchCase) func(b *testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Compile(c.source); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func renderLoop(e *jinja.Engine, c benchCase) func(b *testing.B) {
	return func(b *testing.B) {
		tpl, err := e.Compile(c.source)
		if err != nil {
			b.Fatal(err)
		}
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tpl.Render(ctx, c.vars); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, c := range cases(b) {
		b.Run(c.name, compileLoop(engine(), c))
	}
}

func BenchmarkRender(b *testing.B) {
	for _, c := range cases(b) {
		b.Run(c.name, renderLoop(engine(), c))
	}
}

// cpython is a line of bench.py: nanoseconds per operation.
type cpython struct {
	Name    string  `json:"name"`
	Compile float64 `json:"compile"`
	Render  float64 `json:"render"`
	Output  string  `json:"output"`
}

func TestBesideCPython(t *testing.T) {
	python := os.Getenv("JINJA_BENCH_PYTHON")
	if python == "" {
		t.Skip("JINJA_BENCH_PYTHON names no Python")
	}
	out, err := exec.Command(python, "bench.py", "cases").Output()
	require.NoError(t, err)
	theirs := make(map[string]cpython)
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var c cpython
		require.NoError(t, json.Unmarshal(sc.Bytes(), &c))
		theirs[c.Name] = c
	}
	t.Logf("%-10s %14s %12s %7s %14s %12s %7s %10s %10s", "case", "CPython render", "render", "ratio", "CPython compile", "compile", "ratio", "allocs", "bytes")
	e := engine()
	for _, c := range cases(t) {
		py := theirs[c.name]
		tpl, err := e.Compile(c.source)
		require.NoError(t, err)
		text, err := tpl.Render(t.Context(), c.vars)
		require.NoError(t, err)
		require.Equal(t, py.Output, text, c.name)
		render := testing.Benchmark(renderLoop(e, c))
		compile := testing.Benchmark(compileLoop(e, c))
		r := py.Render / float64(render.NsPerOp())
		k := py.Compile / float64(compile.NsPerOp())
		t.Logf("%-10s %11.1f µs %9.1f µs %7.1f %11.1f µs %9.1f µs %7.1f %10d %10d", c.name,
			py.Render/1e3, float64(render.NsPerOp())/1e3, r, py.Compile/1e3, float64(compile.NsPerOp())/1e3, k,
			render.AllocsPerOp(), render.AllocedBytesPerOp())
		require.GreaterOrEqual(t, r, minRender, "%s: render", c.name)
		require.GreaterOrEqual(t, k, minCompile, "%s: compile", c.name)
	}
}
