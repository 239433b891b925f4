package store

import (
	"context"
	"iter"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/services/orchestration/internal/coalesce"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// counts are the counts in progress.
type counts = coalesce.Group[countKey, int64]

// countKey is what equal counts have in common. Filter is encoded.
type countKey struct {
	collection query.Collection
	filter     string
	limit      int64
}

// Reader reads for package query. It marks outages as the store's own methods do (ErrUnavailable), and commands that exceeded
// their time limit (ErrSlowQuery, ErrSlowCount). Equal counts share walks, see package coalesce.
func (s *Store) Reader() query.Reader { return reader{query.NewReader(s.db), s} }

// Resolver resolves filters of related documents, and reads what they select, within the workspace's share of reads. Commands of one
// read share the time limit of a single operation.
func (s *Store) Resolver() query.Resolver {
	return query.Resolver{Reader: s.Reader(), Begin: s.beginRead, Names: s.searchNames, Limit: operationTimeout}
}

type reader struct {
	query.Reader
	store *Store
}

func (r reader) Groups(ctx context.Context, c query.Collection, index bson.D, field string, filter bson.D, limit int) ([]bson.RawValue, error) {
	if r.store.incomplete.has(c) {
		index = nil
	}
	values, err := r.Reader.Groups(ctx, c, index, field, filter, limit)
	return values, limited(ctx, ErrSlowQuery, err)
}

func (r reader) Stream(ctx context.Context, c query.Collection, filter bson.D, o query.StreamOptions) iter.Seq2[bson.Raw, error] {
	if len(o.Index) > 0 && r.store.incomplete.has(c) {
		return func(yield func(bson.Raw, error) bool) { yield(nil, query.ErrIndexIncomplete) }
	}
	if r.store.incomplete.has(c) {
		o.Hint = nil
	}
	return marked(ctx, r.Reader.Stream(ctx, c, filter, o))
}

func (r reader) Aggregate(ctx context.Context, c query.Collection, filter bson.D, stages []bson.D) iter.Seq2[bson.Raw, error] {
	return marked(ctx, r.Reader.Aggregate(ctx, c, filter, stages))
}

func (r reader) Count(ctx context.Context, c query.Collection, filter bson.D, limit int64) (int64, error) {
	return r.store.count(ctx, c, filter, limit)
}

func (r reader) CountBy(ctx context.Context, c query.Collection, index, filter bson.D, limit int64) (int64, error) {
	if r.store.incomplete.has(c) {
		return r.Count(ctx, c, filter, limit)
	}
	n, err := r.Reader.CountBy(ctx, c, index, filter, limit)
	return n, limited(ctx, ErrSlowCount, err)
}

func marked(ctx context.Context, docs iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range docs {
			if !yield(doc, limited(ctx, ErrSlowQuery, err)) {
				return
			}
		}
	}
}

// beginRead waits until a read of the workspace may begin.
func (s *Store) beginRead(ctx context.Context, ws uuid.UUID) (end func(), err error) {
	return s.reads.Acquire(ctx, admission.Workspace(ws), 1)
}
