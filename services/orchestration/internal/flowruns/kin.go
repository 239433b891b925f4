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

// relative is what the events of a run tell of its flow, or of its deployment; the zero value when it is gone.
type relative struct {
	name string
	tags []string
}

// kin are the flow and the deployment of a run.
type kin struct{ flow, deployment relative }

// relatives remembers flows and deployments for the events of their runs, by id.
type relatives struct {
	mu    sync.Mutex
	known map[uuid.UUID]remembered
}

type remembered struct {
	relative
	until time.Time
}

const (
	// relativesKept bounds the memory; beyond it they are forgotten and read again.
	relativesKept = 10_000
	// relativeKept is how long one is believed: they hardly ever change.
	relativeKept = time.Minute
)

func (r *relatives) get(id uuid.UUID, now time.Time) (relative, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[id]
	return known.relative, ok && now.Before(known.until)
}

func (r *relatives) put(id uuid.UUID, one relative, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= relativesKept {
		r.known = map[uuid.UUID]remembered{}
	}
	r.known[id] = remembered{one, now.Add(relativeKept)}
}

// kinOf are the flow and the deployment of a run.
func (s *Service) kinOf(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun) (k kin, err error) {
	if k.flow, err = recall(ctx, s, ws, s.flows, run.GetFlowId()); err != nil || run.DeploymentId == nil {
		return k, err
	}
	k.deployment, err = recall(ctx, s, ws, s.slots.deployments, run.GetDeploymentId())
	return k, err
}

// named is a document that events tell of.
type named interface {
	proto.Message
	GetName() string
	GetTags() []string
}

// recall is what is known of a document, or what its collection has of it.
func recall[M named](ctx context.Context, s *Service, ws uuid.UUID, of *store.Collection[M], id string) (relative, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return relative{}, fmt.Errorf("read the id of what a run belongs to: %w", err)
	}
	now := s.runs.Store().Now()
	if known, ok := s.relatives.get(parsed, now); ok {
		return known, nil
	}
	found, err := of.Get(ctx, ws, parsed)
	if errors.Is(err, store.ErrNotFound) {
		return relative{}, nil
	}
	if err != nil {
		return relative{}, err
	}
	one := relative{found.GetName(), found.GetTags()}
	s.relatives.put(parsed, one, now)
	return one, nil
}
