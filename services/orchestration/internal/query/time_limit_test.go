package query

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// slowReader responds to each command after a second: with 300 ids of runs, and one flow for each. No flow has such a run.
type slowReader struct{ commands atomic.Int64 }

// wait is one command.
func (r *slowReader) wait(ctx context.Context) error {
	r.commands.Add(1)
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *slowReader) Groups(ctx context.Context, _ Collection, _ bson.D, _ string, _ bson.D, limit int) (ids []bson.RawValue, err error) {
	for i := range min(limit, 300) {
		kind, data, err := bson.MarshalValue(binary(numbered(i)))
		if err != nil {
			return nil, err
		}
		ids = append(ids, bson.RawValue{Type: kind, Value: data})
	}
	return ids, r.wait(ctx)
}

func (r *slowReader) Stream(ctx context.Context, _ Collection, _ bson.D, _ StreamOptions) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for i := range 300 {
			if i%10 == 0 {
				if err := r.wait(ctx); err != nil {
					yield(nil, err)
					return
				}
			}
			doc, err := bson.Marshal(bson.D{{Key: "_id", Value: binary(numbered(1000 + i))}})
			if !yield(doc, err) {
				return
			}
		}
	}
}

func (r *slowReader) Count(ctx context.Context, _ Collection, _ bson.D, _ int64) (int64, error) {
	return 1_000_000, r.wait(ctx)
}

func (r *slowReader) CountBy(ctx context.Context, c Collection, _, filter bson.D, limit int64) (int64, error) {
	return r.Count(ctx, c, filter, limit)
}

func (r *slowReader) Aggregate(ctx context.Context, c Collection, filter bson.D, _ []bson.D) iter.Seq2[bson.Raw, error] {
	return r.Stream(ctx, c, filter, StreamOptions{})
}

// The commands of one read share its time limit, however many they are.
func TestReadsOfSeveralCommandsHaveOneTimeLimit(t *testing.T) {
	t.Parallel()
	plan, err := NewPlan(Flow, parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {"name": {"any_": ["run"]}}}`))
	require.NoError(t, err)
	for name, read := range map[string]func(context.Context, *Selection) error{
		"page": func(ctx context.Context, s *Selection) error {
			_, err := s.Page(ctx, bson.D{{Key: "_id", Value: 1}}, 0, 200)
			return err
		},
		"page behind a position": func(ctx context.Context, s *Selection) error {
			at := Position{{Type: bson.TypeNull}}
			return s.VisitAfter(ctx, bson.D{{Key: "_id", Value: 1}}, at, 200, func(bson.Raw) error { return nil })
		},
		"count": func(ctx context.Context, s *Selection) error { _, err := s.CountUpTo(ctx, 10); return err },
		"fields": func(ctx context.Context, s *Selection) error {
			return s.VisitFields(ctx, nil, []string{"name"}, func(bson.Raw) error { return nil })
		},
		"aggregate": func(ctx context.Context, s *Selection) error { return s.Aggregate(ctx, nil, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reader := &slowReader{}
				r := Resolver{Reader: reader, MaxIDs: 250, Batch: 10, Limit: 5500 * time.Millisecond}
				began := time.Now()
				s, err := r.Select(t.Context(), uuid.New(), plan)
				require.NoError(t, err)
				resolved := time.Since(began)
				require.Less(t, resolved, r.Limit)
				err = read(t.Context(), s)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, r.Limit, time.Since(began)-resolved)
				require.Greater(t, reader.commands.Load(), int64(5))
			})
		})
	}
}
