package backfills

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// passMargin is the time before the deadline of a pass at which it begins no further backfill.
	passMargin = 3 * time.Second
	// lateInsert is the time after the end of a backfill until which another replica may still store runs of it. It exceeds the timeout of
	// an insert.
	lateInsert = time.Minute
)

// open is a backfill that a pass examines.
type open struct{ ws, id uuid.UUID }

// Pass examines the open backfills of all workspaces, and returns how many it changed. When the time is over, the pass ends, and the next
// pass begins behind the last backfill that was examined.
func (s *Service) Pass(ctx context.Context) (changed int, err error) {
	var all []open
	pass := s.backfills.Store().Pass(ctx, "create the runs of a backfill")
	err = s.backfills.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "open", Value: true}}, Fields: []string{"_id", "ws"}}, func(ws uuid.UUID, b *orchv1.Backfill) error {
		id, err := uuid.Parse(b.GetId())
		if err == nil {
			all = append(all, open{ws, id})
		}
		return pass.Record(err, "workspace", ws, "backfill_id", b.GetId())
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b open) int { return bytes.Compare(a.id[:], b.id[:]) })
	first, _ := slices.BinarySearchFunc(all, s.reached, func(one open, reached uuid.UUID) int {
		if bytes.Compare(one.id[:], reached[:]) <= 0 {
			return -1
		}
		return 1
	})
	s.reached = uuid.Nil
	for _, one := range slices.Concat(all[first:], all[:first]) {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < passMargin {
			return changed, pass.Err()
		}
		wrote, err := s.examine(ctx, one)
		if wrote {
			changed++
		}
		if pass.Record(err, "workspace", one.ws, "backfill_id", one.id) != nil {
			break
		}
		s.reached = one.id
	}
	s.reached = uuid.Nil
	return changed, pass.Err()
}

// examine stores the runs of a backfill, and reports whether the backfill changed. A second step stores the runs of the times that the
// first one added.
func (s *Service) examine(ctx context.Context, one open) (changed bool, err error) {
	for range 2 {
		added, wrote, err := s.step(ctx, one)
		changed = changed || wrote
		if err != nil || !added {
			return changed, err
		}
	}
	return changed, nil
}

// step stores the runs of the times that were written before, and writes what became of the unfinished runs. It reports whether it added
// further times, and whether it wrote the backfill.
func (s *Service) step(ctx context.Context, one open) (added, wrote bool, err error) {
	b, err := s.backfills.Get(ctx, one.ws, one.id)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	d, flow, err := s.source(ctx, one.ws, b)
	if err != nil {
		return false, false, err
	}
	stores := d != nil && b.GetState() != cancelled
	switch {
	case stores:
		err = s.storeRuns(ctx, one.ws, b, d, flow)
	case d != nil:
		err = s.cancelRuns(ctx, one.ws, b)
	}
	if err != nil {
		return false, false, err
	}
	states, err := s.runs.StateTypes(ctx, one.ws, runIDs(b))
	if err != nil {
		return false, false, err
	}
	written, err := s.backfills.Mutate(ctx, one.ws, one.id, store.Edit(func(next *orchv1.Backfill) error {
		added = false
		if !slices.Equal(next.GetUnfinished(), b.GetUnfinished()) {
			return nil // Another replica was faster.
		}
		if n := len(next.GetUnfinished()); stores && n > 0 {
			next.StoredUntil = new(next.GetUnfinished()[n-1])
		}
		s.settle(next, states)
		if d == nil && next.GetState() != cancelled {
			next.Message = new("The deployment was deleted.")
			s.enter(next, cancelled)
		}
		creates := next.GetState() == paused
		if next.GetState() == running {
			if added, creates, err = s.add(next); err != nil {
				return err
			}
		}
		if len(next.GetUnfinished()) > 0 || creates {
			return nil
		}
		if next.GetState() == running {
			s.enter(next, completed)
		}
		next.Open = nil
		return nil
	}, s.events(ctx, one.ws)))
	if err != nil {
		return false, false, err
	}
	s.flush.Flush(ctx, query.Backfill, one.ws, one.id)
	return added, !proto.Equal(b, written), nil
}

// source reads the deployment of a backfill and its flow; nil if one of them was deleted, which deletes the other.
func (s *Service) source(ctx context.Context, ws uuid.UUID, b *orchv1.Backfill) (*orchv1.Deployment, *orchv1.Flow, error) {
	id, err := resourceid.Parse(b.GetDeploymentId())
	if err != nil {
		return nil, nil, err
	}
	d, err := s.deployments.Get(ctx, ws, id)
	if err == nil {
		id, err = resourceid.Parse(d.GetFlowId())
	}
	var flow *orchv1.Flow
	if err == nil {
		flow, err = s.flows.Get(ctx, ws, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	return d, flow, err
}

// settle counts the runs that have ended, and leaves the unfinished ones. A run that is missing was deleted, unless it may still be
// stored.
func (s *Service) settle(b *orchv1.Backfill, states map[uuid.UUID]orchv1.StateType) {
	now := s.backfills.Store().Now()
	var unfinished []int64
	for _, at := range b.GetUnfinished() {
		state, found := states[runID(b, at)]
		switch {
		case state == orchv1.StateType_STATE_TYPE_COMPLETED:
			b.CompletedRuns++
		case state == orchv1.StateType_STATE_TYPE_FAILED, state == orchv1.StateType_STATE_TYPE_CRASHED:
			b.FailedRuns++
		case state == orchv1.StateType_STATE_TYPE_CANCELLED:
			b.CancelledRuns++
		case found, at > b.GetStoredUntil() && (b.Ended == nil || now.Before(b.GetEnded().AsTime().Add(lateInsert))):
			unfinished = append(unfinished, at)
		default:
			b.CancelledRuns++
		}
	}
	b.Unfinished = unfinished
}

// add adds times until the backfill has as many unfinished runs as it may. It reports whether it added one, and whether further times
// are left.
func (s *Service) add(b *orchv1.Backfill) (added, rest bool, err error) {
	times, err := schedules.Parse(b.GetSchedule(), b.GetStartTime().AsTime())
	if err != nil {
		return false, false, err
	}
	start := b.GetStartTime().AsTime()
	if b.CreatedUntil != nil {
		start = time.UnixMicro(b.GetCreatedUntil() + 1)
	}
	for at, err := range times.Times(start) {
		if err != nil || at.After(b.GetEndTime().AsTime()) {
			break
		}
		if int64(len(b.GetUnfinished())) >= b.GetMaxParallelRuns() {
			return added, true, nil
		}
		b.Unfinished = append(b.Unfinished, at.UnixMicro())
		b.CreatedUntil = new(at.UnixMicro())
		b.CreatedRuns++
		added = true
	}
	return added, false, nil
}
