package concurrency

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Limits are the limits of all workspaces, and their slots. All users in a process share one Limits.
type Limits struct {
	limits *store.Collection[*orchv1.ConcurrencyLimitV2]
	leases *store.Collection[*orchv1.ConcurrencyLease]
	// deployments are read for the slots of their own limits.
	deployments *store.Collection[*orchv1.Deployment]
	vocab       vocabulary.Vocabulary
	locks       *stripedLock
	chance      func() float64
	// written is called after each write of a limit; a test replaces it to simulate a lost response.
	written func() error
}

// NewLimits returns the limits in a store. chance draws from [0, 1); nil means the process's random source.
func NewLimits(s *store.Store, vocab vocabulary.Vocabulary, chance func() float64) *Limits {
	if chance == nil {
		chance = rand.Float64
	}
	return &Limits{
		limits:      store.NewCollection(s, query.ConcurrencyLimit, &orchv1.ConcurrencyLimitV2{}),
		deployments: store.NewCollection(s, query.Deployment, &orchv1.Deployment{}),
		leases:      store.NewCollection(s, query.ConcurrencyLease, &orchv1.ConcurrencyLease{}),
		vocab:       vocab,
		locks:       newStripedLock(),
		chance:      chance,
		written:     func() error { return nil },
	}
}

// mutate changes a limit. edit changes a copy, and reports whether to write it.
func (l *Limits) mutate(ctx context.Context, ws uuid.UUID, id string, edit func(*orchv1.ConcurrencyLimitV2) (bool, error)) (*orchv1.ConcurrencyLimitV2, error) {
	return l.decide(ctx, ws, id, func(next *orchv1.ConcurrencyLimitV2) (*change, error) {
		written, err := edit(next)
		if err != nil || !written {
			return nil, err
		}
		return &change{Message: next}, nil
	})
}

// mutateQuietly changes internal fields.
func (l *Limits) mutateQuietly(ctx context.Context, ws uuid.UUID, id string, edit func(*orchv1.ConcurrencyLimitV2)) error {
	_, err := l.decide(ctx, ws, id, func(next *orchv1.ConcurrencyLimitV2) (*change, error) {
		edit(next)
		return &change{Message: next, Quiet: true}, nil
	})
	return err
}

type change = store.Change[*orchv1.ConcurrencyLimitV2]

func (l *Limits) decide(ctx context.Context, ws uuid.UUID, id string, decide func(next *orchv1.ConcurrencyLimitV2) (*change, error)) (*orchv1.ConcurrencyLimitV2, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("read the id of a concurrency limit: %w", err)
	}
	done, err := l.locks.lock(ctx, parsed)
	if err != nil {
		return nil, err
	}
	defer done()
	limit, err := l.limits.Mutate(ctx, ws, parsed, func(current *orchv1.ConcurrencyLimitV2, _ int64) (*change, error) {
		return decide(proto.Clone(current).(*orchv1.ConcurrencyLimitV2))
	})
	if err == nil {
		err = l.written()
	}
	return limit, err
}

// find reads limits in the order in which they are taken and released. It reads no holders: they are most of a limit, and what changes them
// reads the limit again.
func (l *Limits) find(ctx context.Context, ws uuid.UUID, filter bson.D) ([]*orchv1.ConcurrencyLimitV2, error) {
	return l.limits.Find(ctx, ws, store.Query{Filter: filter, Sort: byName, Without: []string{"holders"}})
}

// named matches limits by name; an empty list matches none.
func named(names []string) bson.D {
	list := make(bson.A, len(names)) // A nil list would be encoded as null, which is not a valid operand.
	for i, name := range names {
		list[i] = name
	}
	return bson.D{{Key: "name", Value: bson.D{{Key: "$in", Value: list}}}}
}

func leased(lease uuid.UUID) bson.D {
	return bson.D{{Key: "holders.lease_id", Value: store.Binary(lease)}}
}
