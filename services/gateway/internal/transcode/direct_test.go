package transcode

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/openapi"
)

// pathParts are segments of paths: of every kind of variable, and what is almost one.
var pathParts = []string{
	"01890000-0000-7000-8000-00000000000a", "0189000000007000800000000000000A", "01890000-000070008000-000000000001", "01890000-0000-7000-8000-00000000000g",
	"01890000-0000-7000-8000-0000000000010", "01890000--0000-7000-8000-000000000001", "0189", "x", "x%2Fy", "%66ilter", "a%20b", "", ".", "..", "é", "\xff", "{id}", "*", "\n",
}

// The comparison of segments and the router agree about every path.
func TestSegmentsAgreeWithTheRouter(t *testing.T) {
	t.Parallel()
	tc, err := New(Options{Services: openapi.Services()})
	require.NoError(t, err)
	rt := tc.router
	firsts := slices.Sorted(maps.Keys(rt.segments))
	bySegment := map[string][]*Operation{}
	for _, op := range tc.ops {
		bySegment[op.segments[0].literal] = append(bySegment[op.segments[0].literal], op)
	}
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom(firsts).Draw(t, "first segment")
		op := rapid.SampledFrom(bySegment[first]).Draw(t, "operation")
		var path strings.Builder
		for _, s := range op.segments {
			part := s.literal
			if s.field != nil || rapid.IntRange(0, 9).Draw(t, "is another") == 0 {
				part = rapid.SampledFrom(pathParts).Draw(t, "segment")
			}
			path.WriteString("/" + part)
		}
		path.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "x", "/filter"}), 0, 2).Draw(t, "end"), ""))
		u := &url.URL{Path: path.String()}
		if parsed, err := url.ParseRequestURI(path.String()); err == nil && rapid.Bool().Draw(t, "parsed") {
			u = parsed
		}
		method := rapid.SampledFrom([]string{op.Method, op.Method, http.MethodGet, http.MethodPost, http.MethodDelete, "X"}).Draw(t, "method")

		escaped := trimmed(u)
		got, _ := rt.segments[first].direct.find(method, escaped.EscapedPath())
		want := rt.matched(rt.segments[first].router(), method, escaped)
		require.Equal(t, want.op, got.op, "%s %q", method, escaped.EscapedPath())
		for name, value := range want.vars {
			require.Equal(t, value, got.vars[name], "%s of %q", name, escaped.EscapedPath())
		}
		require.Len(t, got.vars, len(want.vars))
	})
}

func BenchmarkFind(b *testing.B) {
	tc, err := New(Options{Services: openapi.Services()})
	require.NoError(b, err)
	u := &url.URL{Path: "/flow_runs/01890000-0000-7000-8000-000000000001/set_state"}
	b.ReportAllocs()
	for b.Loop() {
		if tc.router.find(http.MethodPost, u).op == nil {
			b.Fatal("no operation")
		}
	}
}
