package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
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
             github.com/orch-project/orch/pkg/webhook/render.(*Engine).RenderAs
             github.com/orch-project/orch/services/hooks.(*delivery).ingest
             net/http.(*conn).serve
` + separator + `   30000us   runtime.gcAssistAlloc
             github.com/orch-project/orch/pkg/webhook/render.(*Engine).RenderAs
` + separator + `    2000us   github.com/orch-project/orch/pkg/webhook/render.(*EventMemory).scan
             github.com/orch-project/orch/pkg/webhook/render.(*Engine).EventIn
             github.com/orch-project/orch/services/hooks.(*delivery).ingest
` + separator + `    5000us   net/http.(*conn).serve
` + separator + `    1000us   unknown
`)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"garbage collection": 50000, "render: template": 10000, "event: parse rendered text, validate": 2000, "HTTP: other": 5000, "other": 1000}, sums)
}
