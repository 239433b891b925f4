package isolation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var (
	errFailure = errors.New("the document is of a newer version")
	errAway    = fmt.Errorf("read: %w", NewOutage("the store is unavailable"))
)

// run passes over items with these results, and returns how many it attempted.
func run(ctx context.Context, p *Pass, results ...error) (attempted int) {
	for i, err := range results {
		attempted++
		if p.Record(err, "item", i) != nil {
			break
		}
		if ctx.Err() != nil {
			break
		}
	}
	return attempted
}

func TestPassGoesOnAfterFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		results   []error
		attempted int
		failures  int
		outage    bool
	}{
		"nothing fails":                 {results: []error{nil, nil}, attempted: 2},
		"the first item fails":          {results: []error{errFailure, nil, nil}, attempted: 3, failures: 1},
		"all fail":                      {results: []error{errFailure, errFailure, errFailure, errFailure}, attempted: 4, failures: 4},
		"one slow item":                 {results: []error{nil, errAway, nil, nil}, attempted: 4, outage: true},
		"slow items between others":     {results: []error{errAway, errAway, nil, errAway, errAway, errFailure}, attempted: 6, failures: 1, outage: true},
		"an outage":                     {results: []error{nil, errAway, errAway, errAway, nil}, attempted: 4, outage: true},
		"an outage of the last item":    {results: []error{nil, errAway}, attempted: 2, outage: true},
		"a failure before the outage":   {results: []error{errFailure, errAway, errAway, errAway, nil}, attempted: 4, failures: 1, outage: true},
		"the time of one item was over": {results: []error{context.DeadlineExceeded, nil}, attempted: 2, outage: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := New(slog.New(slog.DiscardHandler), prometheus.NewRegistry()).Begin(t.Context(), "mark items")
			require.Equal(t, test.attempted, run(t.Context(), p, test.results...))
			err := p.Err()
			require.Equal(t, test.failures, p.failures)
			require.Equal(t, test.outage, IsOutage(err))
			require.Equal(t, test.outage, p.Outage() != nil)
			require.Equal(t, test.failures > 0, errors.Is(err, errFailure))
			require.Equal(t, test.failures > 0 || test.outage, err != nil)
		})
	}
}

func TestPassEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := New(slog.New(slog.DiscardHandler), prometheus.NewRegistry()).Begin(ctx, "mark items")
	require.NoError(t, p.Record(nil))
	cancel()
	require.ErrorIs(t, p.Record(nil), context.Canceled)
	require.ErrorIs(t, p.Err(), context.Canceled)
}

func TestPassLogsFailuresWithAttributesAndBoundsThem(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	r := New(slog.New(slog.NewTextHandler(&text, nil)), prometheus.NewRegistry())
	p := r.Begin(t.Context(), "mark items")
	for i := range 1000 {
		require.NoError(t, p.Record(fmt.Errorf("decode: %w", errFailure), "workspace", i))
	}
	require.Equal(t, maxReported, strings.Count(text.String(), "failed to process one item"))
	require.Contains(t, text.String(), "workspace=7")
	require.Equal(t, 1000, int(testutil.ToFloat64(r.failures.WithLabelValues("mark items"))))
	require.Equal(t, maxReported, strings.Count(p.Err().Error(), errFailure.Error()))
	require.Contains(t, p.Err().Error(), "1000 items failed")
}

func TestSentinelsBelongToOneClass(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("publish: %w", NewPermanent("event too large"))
	require.True(t, IsOutage(errAway))
	require.False(t, IsOutage(refused))
	require.False(t, IsOutage(errFailure))
	require.ErrorIs(t, refused, ErrPermanent)
	require.NotErrorIs(t, errAway, ErrPermanent)
}
