package query

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestQueriesMeanWhatTheySay compares the store's results of random queries on random documents with a naive evaluation
// of the filters. It covers joins by ids, by probes, and by both.
func TestQueriesMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	db := database(t)
	makeIndexes(t, db, false) // With indexes the planner of the store chooses other plans than a scan.
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(ctx, t, db)
		defer w.clean(ctx, t, db)
		for range 20 {
			own, q := generateQuery(t)
			set := filtersOf(q.ProtoReflect())
			want := []string{}
			for _, d := range w.docs[own] {
				if w.selected(own, d, set) {
					want = append(want, d["_id"].(string))
				}
			}
			r := Resolver{
				Reader: NewReader(db),
				MaxIDs: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "ids"),
				Batch:  rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "batch"),
			}
			p, err := NewPlan(own, q)
			require.NoError(t, err)
			s, err := r.Select(ctx, w.ws, p)
			if r.MaxIDs > 0 && errors.Is(err, ErrTooBroad) {
				continue // Probes are impossible below an or_.
			}
			require.NoError(t, err)
			page, err := s.Page(ctx, bson.D{{Key: "_id", Value: 1}}, 0, 0)
			require.NoError(t, err)
			filter, _ := s.Filter()
			require.Equal(t, want, idsOf(page), "%s %v\n%s", own, q, filter)
			n, err := s.Count(ctx)
			require.NoError(t, err)
			require.EqualValues(t, len(want), n)

			// Any page is the right slice of the whole list.
			skip, limit := rapid.IntRange(0, 3).Draw(t, "skip"), rapid.IntRange(1, 3).Draw(t, "limit")
			page, err = s.Page(ctx, bson.D{{Key: "_id", Value: 1}}, int64(skip), int64(limit))
			require.NoError(t, err)
			part := want[min(skip, len(want)):min(skip+limit, len(want))]
			require.Equal(t, append([]string{}, part...), idsOf(page))
			require.Equal(t, want, pagesOf(ctx, t, s, int64(limit)))
			require.ElementsMatch(t, want, visitedFields(ctx, t, s))
			n, err = s.CountUpTo(ctx, int64(limit))
			require.NoError(t, err)
			require.EqualValues(t, min(limit, len(want)), n)
		}
	})
}

// generateQuery returns a query for a collection. Except for webhooks it is a flow run query, because that has all
// filters.
func generateQuery(t *rapid.T) (Collection, proto.Message) {
	own := rapid.SampledFrom([]Collection{Flow, Flow, FlowRun, FlowRun, TaskRun, Deployment, Webhook}).Draw(t, "own")
	if own == Webhook {
		q := &orchv1.WebhookQuery{Webhooks: &orchv1.WebhookFilter{}}
		generateFilter(t, q.Webhooks.ProtoReflect())
		return own, q
	}
	q := (&orchv1.FlowRunQuery{}).ProtoReflect()
	fds := q.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		c, ok := queryFields[string(fd.Name())]
		if !ok {
			continue
		}
		often := 1 // In tenths of all queries.
		if c == own {
			often = 8
		}
		if rapid.IntRange(1, 10).Draw(t, string(fd.Name())) <= often {
			generateFilter(t, q.Mutable(fd).Message())
		}
	}
	return own, q.Interface()
}

// pagesOf returns the ids of all pages of a size, each read behind the last document of the one before.
func pagesOf(ctx context.Context, t *rapid.T, s *Selection, size int64) []string {
	sort := bson.D{{Key: "_id", Value: 1}}
	ids := []string{}
	page, err := s.Page(ctx, sort, 0, size)
	for {
		require.NoError(t, err)
		ids = append(ids, idsOf(page)...)
		if int64(len(page)) < size {
			return ids
		}
		last := PositionOf(sort, page[size-1])
		page = nil
		err = s.VisitAfter(ctx, sort, last, size, func(doc bson.Raw) error {
			page = append(page, slices.Clone(doc))
			return nil
		})
	}
}

// visitedFields returns the ids that the other ways to read a selection visit: by fields, and by an aggregation.
func visitedFields(ctx context.Context, t *rapid.T, s *Selection) []string {
	visit := func(list *[]bson.Raw) func(bson.Raw) error {
		return func(doc bson.Raw) error {
			*list = append(*list, slices.Clone(doc))
			return nil
		}
	}
	var fields, rows []bson.Raw
	require.NoError(t, s.VisitFields(ctx, nil, []string{"created"}, visit(&fields)))
	require.NoError(t, s.Aggregate(ctx, nil, []bson.D{{{Key: "$project", Value: bson.D{{Key: "_id", Value: 1}}}}}, visit(&rows)))
	require.ElementsMatch(t, idsOf(fields), idsOf(rows))
	return idsOf(fields)
}

func idsOf(page []bson.Raw) []string {
	ids := make([]string, len(page))
	for i, doc := range page {
		_, data := doc.Lookup("_id").Binary()
		ids[i] = uuid.UUID(data).String()
	}
	slices.Sort(ids)
	return ids
}
