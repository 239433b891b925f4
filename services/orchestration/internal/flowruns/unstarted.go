package flowruns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindUnstarted is the effect that deletes a deployment's runs that have not started.
const kindUnstarted = "flow_runs_unstarted_delete"

// Unstarted selects a subset of the runs that have not started.
type Unstarted byte

const (
	// AutoScheduled selects the runs that a schedule created.
	AutoScheduled Unstarted = iota
	// AnyScheduled selects all of them, and the runs that a schedule creates later.
	AnyScheduled
	// AutoFuture selects the runs that a schedule created and that are not due yet.
	AutoFuture
	// NoneScheduled selects no runs.
	NoneScheduled
)

// DeleteUnstarted returns the effect that deletes the unstarted runs of a deployment that existed when the effect was
// caused. Runs that wait for a slot stay: their start is in progress. Among scheduled runs, an older generation is
// always deleted, independent of clocks; generation is the new one of the deployment's schedules.
func DeleteUnstarted(s *store.Store, ws, deployment uuid.UUID, which Unstarted, generation int64) store.Effect {
	e := s.ResourceEffect(kindUnstarted, ws, deployment)
	e.Body = binary.BigEndian.AppendUint64(append(e.Body, byte(which)), uint64(generation))
	return e
}

// DeleteUnstartedRuns executes effects of that kind.
func (s *Service) DeleteUnstartedRuns(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) != 33 && len(e.Body) != 41 {
			return store.Permanent(fmt.Errorf("decode effect: %d bytes are not two ids, a choice and a generation", len(e.Body)))
		}
		which, generation := Unstarted(e.Body[32]), int64(1) // Older effects have no generation.
		if len(e.Body) == 41 {
			generation = int64(binary.BigEndian.Uint64(e.Body[33:]))
		}
		e.Body = e.Body[:32]
		ws, deployment, err := e.Subject()
		if err != nil {
			return err
		}
		if err := s.deleteUnstarted(ctx, ws, deployment, which, generation, e); err != nil {
			return err
		}
	}
	return nil
}

// errStays means that a run no longer meets the condition for its deletion.
var errStays = errors.New("run is not obsolete")

func (s *Service) deleteUnstarted(ctx context.Context, ws, deployment uuid.UUID, which Unstarted, generation int64, cause store.Effect) error {
	return s.deleteScheduled(ctx, ws, bson.D{
		{Key: "deployment_id", Value: store.Binary(deployment)},
		{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_SCHEDULED)},
	}, func(run *orchv1.FlowRun) bool {
		// A deleted deployment does not return, so whatever its schedules create later is obsolete too.
		if which == AnyScheduled {
			return run.GetAutoScheduled() || !run.GetCreated().AsTime().After(cause.At)
		}
		return run.GetAutoScheduled() && run.GetScheduleGeneration() < generation && !keepsDue(which, run, cause.At)
	})
}

// keepsDue reports whether a selection leaves out a run because its time had come.
func keepsDue(which Unstarted, run *orchv1.FlowRun, at time.Time) bool {
	return which == AutoFuture && !run.GetNextScheduledStartTime().AsTime().After(at)
}

// RetractScheduled deletes those runs of InsertScheduled that have not started. The selection AutoFuture leaves out runs
// that are due.
func (s *Service) RetractScheduled(ctx context.Context, ws uuid.UUID, runs []uuid.UUID, which Unstarted) error {
	now := s.runs.Store().Now()
	return s.deleteScheduled(ctx, ws, bson.D{{Key: "_id", Value: store.OneOf(runs)}},
		func(run *orchv1.FlowRun) bool { return run.GetAutoScheduled() && !keepsDue(which, run, now) })
}

// deleteScheduled deletes the runs that match, have not started, and are obsolete. Each decision is made on the stored run.
func (s *Service) deleteScheduled(ctx context.Context, ws uuid.UUID, filter bson.D, obsolete func(*orchv1.FlowRun) bool) error {
	deletable := func(run *orchv1.FlowRun) bool {
		return run.GetState().GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && run.GetRunCount() == 0 &&
			run.GetState().GetName() != rules.AwaitingConcurrencySlot && obsolete(run)
	}
	var ids []string
	err := s.runs.Each(ctx, ws, store.Query{Filter: filter, Sort: bson.D{{Key: "_id", Value: 1}}}, func(run *orchv1.FlowRun) bool {
		if deletable(run) {
			ids = append(ids, run.GetId())
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		parsed, err := uuid.Parse(id)
		if err != nil {
			return fmt.Errorf("read the id of a flow run: %w", err)
		}
		err = s.deleteIf(ctx, ws, parsed, deletable)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, errStays) {
			return err
		}
	}
	return nil
}
