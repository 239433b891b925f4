package flowruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindUnstarted is the effect that deletes a deployment's runs that have not started.
const kindUnstarted = "flow_runs_unstarted_delete"

// Unstarted selects which of the runs that have not started.
type Unstarted byte

const (
	// AutoScheduled selects the runs that a schedule created.
	AutoScheduled Unstarted = iota
	// AnyScheduled selects all of them.
	AnyScheduled
)

// DeleteUnstarted returns the effect that deletes a deployment's runs that exist when it is caused and have not
// started. Runs that wait for a slot have started and stay.
func DeleteUnstarted(of *store.Store, ws, deployment uuid.UUID, which Unstarted) store.Effect {
	e := of.About(kindUnstarted, ws, deployment)
	e.Body = append(e.Body, byte(which))
	return e
}

// DeleteUnstartedRuns executes effects of that kind.
func (s *Service) DeleteUnstartedRuns(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) != 33 {
			return store.Permanent(fmt.Errorf("decode effect: %d bytes are no two ids and a choice", len(e.Body)))
		}
		which := Unstarted(e.Body[32])
		e.Body = e.Body[:32]
		ws, deployment, err := e.Subject()
		if err != nil {
			return err
		}
		if err := s.deleteUnstarted(ctx, ws, deployment, which, e); err != nil {
			return err
		}
	}
	return nil
}

// errStays reports that a run no longer meets the condition for its deletion.
var errStays = errors.New("the run stays")

// nameAwaitingSlot is the state name of a run that waits for a slot of its deployment's limit.
const nameAwaitingSlot = "AwaitingConcurrencySlot"

func (s *Service) deleteUnstarted(ctx context.Context, ws, deployment uuid.UUID, which Unstarted, cause store.Effect) error {
	goes := func(run *orchv1.FlowRun) bool {
		return run.GetState().GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && run.GetRunCount() == 0 &&
			(which == AnyScheduled || run.GetAutoScheduled()) && run.GetState().GetName() != nameAwaitingSlot &&
			!run.GetCreated().AsTime().After(cause.At)
	}
	var ids []string
	err := s.runs.Each(ctx, ws, bson.D{
		{Key: "deployment_id", Value: store.Binary(deployment)},
		{Key: "state.type", Value: word(orchv1.StateType_STATE_TYPE_SCHEDULED)},
	}, bson.D{{Key: "_id", Value: 1}}, func(run *orchv1.FlowRun) bool {
		if goes(run) {
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
		err = s.deleteIf(ctx, ws, parsed, goes)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, errStays) {
			return err
		}
	}
	return nil
}
