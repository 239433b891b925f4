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
		r.renderings.all <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.render(ctx, run, "{{ 1 + 1 }}")
	require.ErrorIs(t, err, context.Canceled)
	<-r.renderings.all
	text, err := r.render(t.Context(), run, "{{ 1 + 1 }}")
	require.NoError(t, err)
	require.Equal(t, "2", text)
	require.Len(t, r.renderings.all, maxRenderings-1, "it gives its place back")
}

// Templates over large events wait for each other, and those over small ones do not wait for them.
func TestLargeRenderingsAreBounded(t *testing.T) {
	t.Parallel()
	r := NewRenderings()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var ends []func()
	begin := func(ctx context.Context, bytes int) error {
		end, err := r.Begin(ctx, bytes)
		if err == nil {
			ends = append(ends, end)
		}
		return err
	}
	for range maxLargeRenderings {
		require.NoError(t, begin(t.Context(), largeEvents+1))
	}
	require.ErrorIs(t, begin(ended, largeEvents+1), context.Canceled)
	for range maxRenderings - maxLargeRenderings {
		require.NoError(t, begin(t.Context(), largeEvents))
	}
	for _, end := range ends {
		end()
	}
	require.Empty(t, r.all)
	require.Empty(t, r.large)
}
