package action

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// Templates wait for each other beyond a bound, and no longer than their context.
func TestRenderingsAreBounded(t *testing.T) {
	t.Parallel()
	r := New(Deps{Store: storetest.Embedded(t, clock.NewManual(noon)), Vocabulary: vocabulary.Orch})
	run := &orchv1.AutomationActionRun{Automation: &orchv1.Automation{Name: "a"}, Firing: &orchv1.AutomationFiring{}}
	for range maxRenderings {
		r.rendering <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.render(ctx, run, "{{ 1 + 1 }}")
	require.ErrorIs(t, err, context.Canceled)
	<-r.rendering
	text, err := r.render(t.Context(), run, "{{ 1 + 1 }}")
	require.NoError(t, err)
	require.Equal(t, "2", text)
	require.Len(t, r.rendering, maxRenderings-1, "it gives its place back")
}
