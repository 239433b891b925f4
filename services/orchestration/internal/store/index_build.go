package store

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

const (
	// indexWait is how long a start waits for indexes. Indexes of new and small collections exist long before.
	indexWait = time.Second
	// indexRetry is the time between attempts to build indexes.
	indexRetry = 5 * time.Second
)

// incomplete are the collections that may lack indexes.
type incomplete struct {
	mu          sync.Mutex
	collections []query.Collection
}

func (i *incomplete) add(c query.Collection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.collections = append(i.collections, c)
}

func (i *incomplete) remove(c query.Collection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.collections = slices.DeleteFunc(i.collections, func(other query.Collection) bool { return other == c })
}

// list are their names.
func (i *incomplete) list() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	names := make([]string, len(i.collections))
	for n, c := range i.collections {
		names[n] = string(c)
	}
	return names
}

func (i *incomplete) has(c query.Collection) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.collections, c)
}

// IndexBuilder builds the indexes for which a start did not wait. It is a run.Worker. Until it has built those of a collection,
// queries of the collection read more, and none has a hint.
//
//	StartIndexes ──1 s: all built──────────────────────────────► complete
//	      └──unique ones──► start is served ──► IndexBuilder ──► complete ──► retired indexes dropped
type IndexBuilder struct {
	store *Store
	log   *slog.Logger
	sets  []indexSet
}

// StartIndexes is EnsureIndexes for the start of a server. It waits a second, so that the indexes of new and small
// collections exist afterwards. It waits without a limit for unique indexes, because writes rely on them. The builder that it
// returns builds the others.
func (s *Store) StartIndexes(ctx context.Context, indexes []query.Index, log *slog.Logger) (*IndexBuilder, error) {
	return s.startIndexes(ctx, indexes, log, indexWait)
}

func (s *Store) startIndexes(ctx context.Context, indexes []query.Index, log *slog.Logger, wait time.Duration) (*IndexBuilder, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	b := &IndexBuilder{store: s, log: log}
	for _, set := range indexSets(indexes) {
		err := s.ensure(waiting, set)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !mongo.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		if err := s.createUnique(ctx, set); err != nil {
			return nil, err
		}
		b.sets = append(b.sets, set)
		s.incomplete.add(set.collection)
	}
	return b, nil
}

// createUnique creates the unique indexes of a collection.
func (s *Store) createUnique(ctx context.Context, set indexSet) error {
	if len(set.unique) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	return s.create(ctx, set.collection, set.unique)
}

// Name implements run.Worker.
func (b *IndexBuilder) Name() string { return "index builder" }

// Run builds the indexes, one collection after the other, until the context ends. It retries an attempt that fails.
func (b *IndexBuilder) Run(ctx context.Context) error {
	if len(b.sets) > 0 {
		began := time.Now()
		b.log.InfoContext(ctx, "index build began; queries that need the indexes are slower meanwhile", "collections", b.store.incomplete.list())
		for _, set := range b.sets {
			if err := b.build(ctx, set); err != nil {
				return nil //nolint:nilerr // The context ended.
			}
		}
		b.log.InfoContext(ctx, "indexes are built", "took", time.Since(began).Round(time.Millisecond))
	}
	<-ctx.Done()
	return nil
}

// build builds the indexes of a collection. Its error is that of ctx.
func (b *IndexBuilder) build(ctx context.Context, set indexSet) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, indexTimeout)
		err := b.store.ensure(attempt, set)
		cancel()
		if err == nil {
			b.store.incomplete.remove(set.collection)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.log.WarnContext(ctx, "failed to build indexes; retrying", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(indexRetry):
		}
	}
}

// State names the collections whose indexes are being built; empty when all are built.
func (b *IndexBuilder) State() string {
	names := b.store.incomplete.list()
	if len(names) == 0 {
		return ""
	}
	return "building indexes of " + strings.Join(names, ", ")
}
