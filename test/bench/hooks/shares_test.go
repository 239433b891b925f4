package main

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/webhook/render"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestSamplesBelongToParts: the runtime's work comes first, then the innermost part; labels are no functions.
func TestSamplesBelongToParts(t *testing.T) {
	t.Parallel()
	sums, err := sumParts(`File: orch
Type: cpu
` + separator + `   20000us   runtime.scanObject
             runtime.gcDrain
             runtime.gcBgMarkWorker
` + separator + `             key:[value]
   10000us   runtime.memmove
             github.com/orch-project/orch/pkg/jinja.(*state).render (inline)
             github.com/orch-project/orch/pkg/webhook/render.(*Engine).RenderFor
             github.com/orch-project/orch/services/hooks.(*delivery).ingest
             net/http.(*conn).serve
` + separator + `   30000us   runtime.gcAssistAlloc
             github.com/orch-project/orch/pkg/webhook/render.(*Engine).RenderFor
` + separator + `    2000us   github.com/orch-project/orch/pkg/webhook/render.(*EventMemory).scan
             github.com/orch-project/orch/pkg/webhook/render.(*Engine).EventsIn
             github.com/orch-project/orch/services/hooks.(*delivery).ingest
` + separator + `    5000us   net/http.(*conn).serve
` + separator + `    1000us   unknown
`)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"garbage collection": 50000, "render: filter, template, response": 10000, "event: parse rendered text, validate": 2000, "HTTP: other": 5000, "other": 1000}, sums)
}

// TestRenderingBelongsToItsParts compares the patterns with the names that the functions have in a profile.
func TestRenderingBelongsToItsParts(t *testing.T) {
	t.Parallel()
	for part, functions := range map[string][]any{
		"render: filter, template, response":   {(*render.Engine).RenderFor, (*render.Engine).Match, (*render.Engine).Respond},
		"event: parse rendered text, validate": {(*render.Engine).Events, (*render.Engine).EventsIn},
	} {
		for _, function := range functions {
			name := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
			require.Equal(t, part, partOf([]string{name}), name)
		}
	}
}
