package flowruns

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/artifacts"
	"github.com/orch-project/orch/services/orchestration/internal/logs"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/taskruns"
)

// kindExpire is the effect that removes a batch of expired runs, and then what belongs to them.
const kindExpire = "flow_runs_expire"

// expiryFields are the fields of a run that its expiry needs.
var expiryFields = []string{"end_time", "state.state_details.deployment_concurrency_lease_id"}

// CountExpired counts expired runs by their end, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	return s.runs.Count(ctx, ws, store.Query{Filter: e.Filter("end_time"), Limit: limit})
}

// DeleteExpired deletes the expired runs that ended first, at most limit, with what belongs to them. It publishes no
// events. A run that changes meanwhile stays.
//
// The first run of the batch carries an effect that names the others, so a crash cannot interrupt the batch:
//
//	first run leaves the workspace, with kindExpire ──► others are removed ──► dependents ──► first run is removed
//	                   on disk                          └─── a sweeper executes these after a crash ───┘
//
// Writing the effects into each run would cost three times as many index entries.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	// Most runs end as completed.
	direct := slices.Contains(e.States, rules.StateName(orchv1.StateType_STATE_TYPE_COMPLETED))
	found, err := store.Oldest(ctx, s.runs, ws, e.Filter("end_time"), "end_time", direct, expiryFields, limit)
	if err != nil {
		return store.Expiry{}, err
	}
	expiry := store.Expiry{More: int64(len(found)) == limit, Reached: e.Before}
	if expiry.More {
		expiry.Reached = found[len(found)-1].Message.GetEndTime().AsTime()
	}
	// A run that may hold slots releases them by effects of its own.
	holders, rest := split(found, func(v store.Version[*orchv1.FlowRun]) bool { return s.slots.freedBy(ws, v.Message) != nil })
	boxes, err := store.DeleteVersions(ctx, s.runs, ws, holders, func(run *orchv1.FlowRun) []store.Effect {
		id, err := resourceid.Parse(run.GetId())
		if err != nil {
			return nil
		}
		return s.dependents(ws, id, run)
	})
	if err != nil {
		return store.Expiry{}, err
	}
	expiry.Deleted = int64(len(boxes))
	if err := s.flush.ExecuteAll(ctx, query.FlowRun, boxes); err != nil || len(rest) == 0 {
		return expiry, err
	}
	batch, err := revisions(rest)
	if err != nil {
		return expiry, err
	}
	boxes, err = store.DeleteVersions(ctx, s.runs, ws, rest[:1], func(*orchv1.FlowRun) []store.Effect {
		return []store.Effect{s.runs.Store().AboutRevisions(kindExpire, ws, batch)}
	})
	if err != nil || len(boxes) == 0 { // The first run has changed, so the batch stays for the next call.
		expiry.More, expiry.Reached = true, time.Time{}
		return expiry, err
	}
	expiry.Deleted += int64(len(batch))
	return expiry, s.flush.ExecuteAll(ctx, query.FlowRun, boxes)
}

// split returns the elements for which a condition holds, and the others.
func split[E any](all []E, condition func(E) bool) (yes, no []E) {
	for _, one := range all {
		if condition(one) {
			yes = append(yes, one)
		} else {
			no = append(no, one)
		}
	}
	return yes, no
}

func revisions(all []store.Version[*orchv1.FlowRun]) ([]store.Revision, error) {
	batch := make([]store.Revision, len(all))
	for i, v := range all {
		id, err := resourceid.Parse(v.Message.GetId())
		if err != nil {
			return nil, err
		}
		batch[i] = store.Revision{ID: id, Revision: v.Revision}
	}
	return batch, nil
}

// Expire removes the runs of expired batches that still have their revisions, and then what belongs to those that are gone.
// The first run of a batch has left its workspace already.
func (s *Service) Expire(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		ws, batch, err := e.Revisions()
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			continue
		}
		removed, err := store.RemoveRevisions(ctx, s.runs, ws, batch[1:])
		if err != nil {
			return err
		}
		if err := s.flush.Execute(ctx, s.dependentsOf(ws, append(removed, batch[0].ID))); err != nil {
			return err
		}
	}
	return nil
}

// dependentsOf are the effects that delete what belongs to removed runs without slots, grouped by their kinds.
func (s *Service) dependentsOf(ws uuid.UUID, runs []uuid.UUID) []store.Effect {
	db := s.runs.Store()
	forget := func(db *store.Store, ws, run uuid.UUID) store.Effect { return db.ResourceEffect(kindForget, ws, run) }
	var effects []store.Effect
	for _, effect := range []func(db *store.Store, ws, run uuid.UUID) store.Effect{
		taskruns.DeleteOfFlowRun, artifacts.DeleteOfFlowRun, forget, logs.DeleteOfFlowRun,
	} {
		for _, run := range runs {
			effects = append(effects, effect(db, ws, run))
		}
	}
	return effects
}
