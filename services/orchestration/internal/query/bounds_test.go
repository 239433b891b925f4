package query

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestHostileQueriesAreBounded asks for what makes a store work most. Each request ends, with a result or an error that says why
// there is none.
func TestHostileQueriesAreBounded(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	makeIndexes(t, db, false)
	var runs []any
	for i := range 300 {
		runs = append(runs, append(envelope(ws, false),
			bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "name", Value: fmt.Sprintf("calm-%d%%", i)},
			bson.E{Key: "flow_id", Value: binary(numbered(i % 3))}, bson.E{Key: "sort_start", Value: int64(i)}))
	}
	_, err := db.Collection(string(FlowRun)).InsertMany(ctx, runs)
	require.NoError(t, err)
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = `"` + numbered(i).String() + `"`
	}
	like := func(text string) string { return `{"flow_runs":{"name":{"like_":"` + text + `"}}}` }
	for name, c := range map[string]struct {
		body   string
		offset int64
		want   int64
		err    error
	}{
		"one letter":                        {body: like("C"), want: 300},
		"one letter that is absent":         {body: like("z"), want: 0},
		"a wildcard":                        {body: like("%"), want: 300},
		"many wildcards":                    {body: like(strings.Repeat("%", 5000) + "m" + strings.Repeat("%", 5000)), want: 300},
		"a text of a megabyte":              {body: like(strings.Repeat("a", 1<<20)), err: ErrLongText},
		"ten thousand ids":                  {body: `{"flow_runs":{"id":{"any_":[` + strings.Join(ids, ",") + `]}}}`, want: 300},
		"ten thousand ids to exclude":       {body: `{"flow_runs":{"id":{"not_any_":[` + strings.Join(ids, ",") + `]}}}`, want: 0},
		"an offset of a billion":            {body: `{}`, offset: 1_000_000_000, want: 300},
		"an offset of a billion, a search":  {body: like("m"), offset: 1_000_000_000, want: 300},
		"five related filters":              {body: `{"flows":{},"task_runs":{},"deployments":{},"work_pools":{},"work_pool_queues":{}}`, want: 0},
		"related filters of several levels": {body: `{"flows":{"deployment":{"is_null_":true}},"flow_runs":{"parent_flow_run_id":{"any_":["` + someID + `"]}}}`, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := &orchv1.FlowRunQuery{}
			proto.Merge(q, parse(t, &orchv1.FlowRunQuery{}, c.body))
			n, page, err := boundedQuery(ctx, Resolver{Reader: NewReader(db)}, ws, q, c.offset)
			if c.err != nil {
				require.ErrorIs(t, err, c.err, name)
				return
			}
			require.NoError(t, err, name)
			require.Equal(t, c.want, n, name)
			require.EqualValues(t, max(0, min(c.want-c.offset, pageSize)), page, name)
		})
	}
}

// boundedQuery returns the count of a query and the size of its page.
func boundedQuery(ctx context.Context, r Resolver, ws uuid.UUID, q proto.Message, offset int64) (n int64, size int, err error) {
	p, err := NewPlan(FlowRun, q)
	if err != nil {
		return 0, 0, err
	}
	s, err := r.Select(ctx, ws, p)
	if err != nil {
		return 0, 0, err
	}
	if n, err = s.Count(ctx); err != nil {
		return 0, 0, err
	}
	page, err := s.Page(ctx, bson.D{{Key: "sort_start", Value: -1}, {Key: "_id", Value: -1}}, offset, pageSize)
	return n, len(page), err
}
