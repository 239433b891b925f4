package query

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The number beside a page stops at a bound: that of own fields, or of related filters, in whichever way they are resolved.
func TestCountsBesidePagesAreCapped(t *testing.T) {
	t.Parallel()
	db, ws := database(t), uuid.New()
	flowsWithRuns(t, db, ws, 60) // 40 have runs.
	for _, x := range []struct {
		filter       string
		own, related int64
		maxIDs       int
		want         int64
		capped       bool
	}{
		{`{}`, 60, 1, 0, 60, false},
		{`{}`, 59, 1, 0, 59, true},
		{`{"flow_runs": {"name": {"any_": ["run"]}}}`, 1, 40, 0, 40, false},
		{`{"flow_runs": {"name": {"any_": ["run"]}}}`, 1, 39, 0, 39, true},
		{`{"flow_runs": {"name": {"any_": ["run"]}}}`, 1, 40, 10, 40, false},
		{`{"flow_runs": {"name": {"any_": ["run"]}}}`, 1, 39, 10, 39, true},
	} {
		t.Run(x.filter, func(t *testing.T) {
			p, err := NewPlan(Flow, parse(t, &orchv1.FlowQuery{}, x.filter))
			require.NoError(t, err)
			s, err := Resolver{Reader: NewReader(db), OwnCap: x.own, RelatedCap: x.related, MaxIDs: x.maxIDs}.Select(t.Context(), ws, p)
			require.NoError(t, err)
			n, capped, err := s.CountCapped(t.Context())
			require.NoError(t, err)
			require.Equal(t, x.want, n, "%v", x)
			require.Equal(t, x.capped, capped, "%v", x)
			exact, err := s.Count(t.Context())
			require.NoError(t, err)
			require.GreaterOrEqual(t, exact, n, "%v", x)
		})
	}
}
