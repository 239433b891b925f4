package orchestration

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The log has the first failure of an outage and its end, and every other failure.
func TestAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	handler := newOutageLog(slog.New(slog.NewTextHandler(&text, nil)), nil)
	log := slog.New(handler).With("component", "test")
	away := fmt.Errorf("take lease: %w", store.ErrUnavailable)
	for range 2 {
		text.Reset()
		for i := range 5 {
			log.Warn("failed to run a task", "task", i, "error", away)
		}
		log.Error("another failure", "error", errors.New("of its own"))
		log.Info("a change", "error", away)
		for range 3 {
			handler.outage.available()
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		require.Len(t, lines, 4, &text)
		require.Contains(t, lines[0], "task=0")
		require.Contains(t, lines[1], "of its own")
		require.Contains(t, lines[2], "a change")
		require.Contains(t, lines[3], "database is available again")
	}
}
