package flowruns

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// relatedResource is the flow or the deployment of a run, as the run's events name it. It is zero for a deleted one.
type relatedResource struct {
	name string
	tags []string
}

// related holds the flow and the deployment of a run, and the type of its work pool.
type related struct {
	flow, deployment relatedResource
	poolType         string
}

// relatedCache caches flows and deployments by id for the events of their runs.
type relatedCache struct {
	mu      sync.Mutex
	entries map[uuid.UUID]cacheEntry
}

type cacheEntry struct {
	relatedResource
	until time.Time
}

const (
	// relatedCacheSize bounds the cache, which is cleared when it is full.
	relatedCacheSize = 10_000
	// relatedTTL is the lifetime of an entry; flows and deployments rarely change.
	relatedTTL = time.Minute
)

func (r *relatedCache) get(id uuid.UUID, now time.Time) (relatedResource, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry, ok := r.entries[id]
	return entry.relatedResource, ok && now.Before(entry.until)
}

func (r *relatedCache) put(id uuid.UUID, one relatedResource, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil || len(r.entries) >= relatedCacheSize {
		r.entries = map[uuid.UUID]cacheEntry{}
	}
	r.entries[id] = cacheEntry{one, now.Add(relatedTTL)}
}

// relatedOf reads the flow and the deployment of a run.
func (s *Service) relatedOf(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun) (r related, err error) {
	if r.flow, err = cachedGet(ctx, s, ws, s.flows, run.GetFlowId()); err != nil {
		return r, err
	}
	if run.WorkPoolId != nil {
		if r.poolType, err = s.typeOfPool(ctx, ws, run.GetWorkPoolId()); err != nil {
			return r, err
		}
	}
	if run.DeploymentId != nil {
		r.deployment, err = cachedGet(ctx, s, ws, s.slots.deployments, run.GetDeploymentId())
	}
	return r, err
}

// typeOfPool reads the type of a work pool from the cache or from the pools.
func (s *Service) typeOfPool(ctx context.Context, ws uuid.UUID, pool string) (string, error) {
	id, err := uuid.Parse(pool)
	if err != nil {
		return "", fmt.Errorf("parse id of a run's work pool: %w", err)
	}
	now := s.runs.Store().Now()
	if cached, ok := s.relatedCache.get(id, now); ok {
		return cached.name, nil
	}
	kind, err := s.poolType(ctx, ws, id)
	if err == nil {
		s.relatedCache.put(id, relatedResource{name: kind}, now)
	}
	return kind, err
}

// named is a document that events name.
type named interface {
	proto.Message
	GetName() string
	GetTags() []string
}

// cachedGet reads a document from the cache or from its collection.
func cachedGet[M named](ctx context.Context, s *Service, ws uuid.UUID, collection *store.Collection[M], id string) (relatedResource, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return relatedResource{}, fmt.Errorf("parse id of a related resource: %w", err)
	}
	now := s.runs.Store().Now()
	if cached, ok := s.relatedCache.get(parsed, now); ok {
		return cached, nil
	}
	found, err := collection.Get(ctx, ws, parsed)
	if errors.Is(err, store.ErrNotFound) {
		return relatedResource{}, nil
	}
	if err != nil {
		return relatedResource{}, err
	}
	one := relatedResource{found.GetName(), found.GetTags()}
	s.relatedCache.put(parsed, one, now)
	return one, nil
}
