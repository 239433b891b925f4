package jinja_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// vector is a case generated with CPython: the expected text, or the kind of the error.
type vector struct {
	ID        string          `json:"id"`
	Group     string          `json:"group"`
	Template  string          `json:"template"`
	Context   json.RawMessage `json:"context"`
	Expect    *string         `json:"expect"`
	Error     string          `json:"error"`
	Maybe     bool            `json:"maybe"`
	Chainable *outcome        `json:"chainable"`
}

type outcome struct {
	Expect *string `json:"expect"`
	Error  string  `json:"error"`
}

func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	var out []vector
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		var v vector
		require.NoError(t, json.Unmarshal(sc.Bytes(), &v))
		out = append(out, v)
	}
	require.NoError(t, sc.Err())
	return out
}

// knownMisses reads the ids of cases that differ from CPython, with their reasons.
func knownMisses(t testing.TB) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/known-misses.txt")
	require.NoError(t, err)
	out := make(map[string]string)
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		out[id] = strings.TrimSpace(reason)
	}
	return out
}

func renderVector(ctx context.Context, e *jinja.Engine, v vector) (string, error) {
	vars, err := jinja.DecodeVars(v.Context)
	if err != nil {
		return "", err
	}
	t, err := e.Compile(v.Template)
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(vars, func(name string, _ jinja.Value) bool { return !t.Reads(name) })
	return t.Render(ctx, vars)
}

func judge(want outcome, got string, err error) string {
	if err != nil {
		var e *jinja.Error
		if !errors.As(err, &e) {
			return "not a template error: " + err.Error()
		}
		if want.Expect != nil || want.Error != string(e.Kind) {
			return fmt.Sprintf("got error %v, want %s%s", err, want.Error, quoted(want.Expect))
		}
		return ""
	}
	if want.Expect == nil {
		return fmt.Sprintf("got %q, want an error: %s", got, want.Error)
	}
	if got != *want.Expect {
		return fmt.Sprintf("got %q, want %q", got, *want.Expect)
	}
	return ""
}

func quoted(s *string) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%q", *s)
}

// minRate is the minimum share of vectors, in percent, that must agree with CPython, including kinds of errors.
const minRate = 99.5

func TestConformance(t *testing.T) {
	t.Parallel()
	vectors := readVectors(t, "testdata/vectors.jsonl")
	misses := knownMisses(t)
	for _, mode := range []jinja.Undefined{jinja.Default, jinja.Chainable} {
		name := map[jinja.Undefined]string{jinja.Default: "default", jinja.Chainable: "chainable"}[mode]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := jinja.New(jinja.Options{Undefined: mode})
			passed := 0
			for _, v := range vectors {
				want := outcome{v.Expect, v.Error}
				if mode == jinja.Chainable && v.Chainable != nil {
					want = *v.Chainable
				}
				got, err := renderVector(t.Context(), e, v)
				diff := judge(want, got, err)
				if diff == "" {
					passed++
					continue
				}
				if reason, expected := misses[v.ID]; expected {
					t.Logf("known miss %s (%s): %s", v.ID, reason, diff)
					continue
				}
				t.Errorf("%s: %q: %s", v.ID, v.Template, diff)
			}
			rate := 100 * float64(passed) / float64(len(vectors))
			t.Logf("%d of %d vectors, %.2f %%", passed, len(vectors), rate)
			require.GreaterOrEqual(t, rate, minRate)
		})
	}
}
