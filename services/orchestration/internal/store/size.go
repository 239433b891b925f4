package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

const (
	// sampleDocuments and sampleBytes bound what an estimate reads at each end of an index.
	sampleDocuments = 250
	sampleBytes     = 4 << 20
)

// Count counts the documents of a workspace, up to a limit; 0 means none.
func (s *Store) Count(ctx context.Context, collection query.Collection, ws uuid.UUID, limit int64) (int64, error) {
	n, err := s.count(ctx, collection, query.Scope(ws, nil), limit)
	if err != nil {
		return 0, fmt.Errorf("count %ss: %w", collection, err)
	}
	return n, nil
}

// EstimateBytes returns the size of a workspace's documents, which an index covers: exact for a few hundred documents, else their number
// times the mean size of those at both ends of the index.
func (s *Store) EstimateBytes(ctx context.Context, ws uuid.UUID, index query.Index) (int64, error) {
	n, err := s.Count(ctx, index.Collection, ws, 0)
	if err != nil || n == 0 {
		return 0, err
	}
	var documents, size int64
	for _, direction := range []int{1, -1} {
		more, bytes, err := s.sample(ctx, ws, index, direction, sampleDocuments, sampleBytes)
		if err != nil {
			return 0, err
		}
		documents, size = documents+more, size+bytes
		if documents >= n {
			return size, nil
		}
	}
	if documents == 0 {
		return 0, nil // They were deleted in the meantime.
	}
	return int64(float64(size) / float64(documents) * float64(n)), nil
}

// Bytes returns the exact size of a workspace's documents, or a size of at least limit. It reads the documents, so it is for collections whose
// documents of a workspace are few.
func (s *Store) Bytes(ctx context.Context, collection query.Collection, ws uuid.UUID, limit int64) (int64, error) {
	indexes := query.Indexes()
	i := slices.IndexFunc(indexes, func(index query.Index) bool { return index.Collection == collection && index.CoversWorkspaces() })
	_, size, err := s.sample(ctx, ws, indexes[i], 1, 0, limit)
	return size, err
}

// sample reads the first documents of a workspace in the order of an index, up to a number and a size; the number 0 means no bound.
func (s *Store) sample(ctx context.Context, ws uuid.UUID, index query.Index, direction int, number, bytes int64) (documents, size int64, err error) {
	order := bson.D{}
	for _, key := range index.Keys {
		order = append(order, bson.E{Key: key.Key, Value: direction})
	}
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	opts := options.Find().SetSort(order).SetLimit(number).SetBatchSize(sampleDocuments)
	cursor, err := query.Find(ctx, s.db.Collection(string(index.Collection)), query.Scope(ws, nil), opts)
	if err != nil {
		return 0, 0, fmt.Errorf("sample %ss: %w", index.Collection, outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for size < bytes && cursor.Next(ctx) {
		documents++
		size += int64(len(cursor.Current))
	}
	if err := cursor.Err(); err != nil {
		return 0, 0, fmt.Errorf("sample %ss: %w", index.Collection, outage(err))
	}
	return documents, size, nil
}
