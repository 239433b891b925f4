package eventtypes

import (
	"bytes"
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/isolation"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/inference"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// recordEvery is the interval at which samples are stored. storedEvery is the interval at which times of last events are stored.
	recordEvery = time.Second
	storedEvery = time.Hour
	// lastRecord bounds the storing of samples when the process ends.
	lastRecord = 5 * time.Second
)

// Recorder stores what Observe has collected. Each replica runs its own.
type Recorder struct{ Service *Service }

// Name implements run.Worker.
func (r Recorder) Name() string { return "event type recorder" }

// Run stores samples until the context ends, and then the last ones.
func (r Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(recordEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.Service.Record(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRecord)
			defer cancel()
			r.Service.Record(last)
			return nil
		}
	}
}

// Record stores what Observe has collected. Samples that an outage keeps from being stored follow with the next record.
func (s *Service) Record(ctx context.Context) {
	pass := s.Store.Pass(ctx, "store the samples of an event type")
	for _, c := range s.register.take(s.Store.Now()) {
		err := pass.Outage()
		if err == nil {
			err = s.record(ctx, c)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			s.register.forget(c.ws, c.name)
			continue
		case isolation.IsOutage(err):
			s.register.restore(c)
		}
		_ = pass.Record(err, "workspace", c.ws, "event", c.name)
	}
}

// record stores the samples of one event type.
func (s *Service) record(ctx context.Context, c change) error {
	_, err := s.types.Mutate(ctx, c.ws, c.id, func(current *orchv1.EventType, _ int64) (*store.Change[*orchv1.EventType], error) {
		next := proto.CloneOf(current)
		stored, err := inference.Parse(current.GetSchema())
		if err != nil {
			return nil, store.Permanent(err)
		}
		next.Schema = inference.Merge(stored, c.sample).Within(maxSchema).JSON()
		if c.seen.Sub(current.GetLastSeen().AsTime()) >= storedEvery {
			next.LastSeen = timestamppb.New(c.seen)
			if next.Pinned == nil {
				next.Expires = expiry(c.seen)
			}
		}
		if proto.Equal(current, next) {
			return nil, nil
		}
		return &store.Change[*orchv1.EventType]{Message: next, Quiet: bytes.Equal(current.GetSchema(), next.GetSchema())}, nil
	})
	return err
}
