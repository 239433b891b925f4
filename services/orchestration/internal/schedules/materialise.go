package schedules

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindMaterialise is the effect that inserts the runs of a deployment's schedules.
const KindMaterialise = "schedules_materialise"

// batch is the body of such an effect, behind the workspace and the deployment.
type batch struct {
	Generation int64      `json:"generation"`
	Schedules  []planning `json:"schedules"`
}

// planning are the runs of one schedule.
type planning struct {
	Schedule string  `json:"schedule"`
	Times    []int64 `json:"times"` // In microseconds.
}

// effect is what inserts planned runs.
func effect(db *store.Store, ws, deployment uuid.UUID, b batch) (store.Effect, error) {
	e := db.ResourceEffect(KindMaterialise, ws, deployment)
	body, err := json.Marshal(b)
	if err != nil {
		return store.Effect{}, fmt.Errorf("encode scheduled runs: %w", err)
	}
	e.Body = append(e.Body, body...)
	return e, nil
}

// subjectSize is the length of the two ids that an effect's body begins with.
const subjectSize = 32

// planned is a decoded effect.
type planned struct {
	effect     store.Effect
	deployment uuid.UUID
	batch      batch
}

// Materialise executes effects of that kind. It drops the runs of deployments, flows and schedules that were deleted or
// changed since. Effects may be those of several deployments: their runs are inserted together.
func (s *Scheduler) Materialise(ctx context.Context, effects []store.Effect) error {
	var workspaces []uuid.UUID
	byWorkspace := map[uuid.UUID][]planned{}
	for _, e := range effects {
		ws, p, err := decode(e)
		if err != nil {
			return err
		}
		if byWorkspace[ws] == nil {
			workspaces = append(workspaces, ws)
		}
		byWorkspace[ws] = append(byWorkspace[ws], p)
	}
	for _, ws := range workspaces {
		for rest := byWorkspace[ws]; len(rest) > 0; {
			n := together(rest)
			if err := s.materialise(ctx, ws, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// maxTogether bounds the runs that are built at once, in memory.
const maxTogether = 2000

// together is how many plans, at least one, have at most maxTogether runs.
func together(all []planned) int {
	runs := 0
	for i, p := range all {
		for _, one := range p.batch.Schedules {
			runs += len(one.Times)
		}
		if runs > maxTogether {
			return max(i, 1)
		}
	}
	return len(all)
}

func decode(e store.Effect) (uuid.UUID, planned, error) {
	if len(e.Body) < subjectSize {
		return uuid.Nil, planned{}, store.Permanent(fmt.Errorf("decode effect: %d bytes are not two ids", len(e.Body)))
	}
	p := planned{effect: e}
	if err := json.Unmarshal(e.Body[subjectSize:], &p.batch); err != nil {
		return uuid.Nil, planned{}, store.Permanent(fmt.Errorf("decode effect: scheduled runs: %w", err))
	}
	subject := e
	subject.Body = e.Body[:subjectSize]
	ws, id, err := subject.Subject()
	p.deployment = id
	return ws, p, err
}

// materialise inserts the runs, and only then verifies that their deployments are as the runs were planned for. Another
// replica may delete or change a deployment at the same time. Either its scan for obsolete runs comes after the insertion
// and finds them, or the verification comes after its change and retracts them.
func (s *Scheduler) materialise(ctx context.Context, ws uuid.UUID, all []planned) error {
	deployments, err := s.current(ctx, ws, all)
	if err != nil {
		return err
	}
	flows, err := s.flowsOf(ctx, ws, deployments)
	if err != nil {
		return err
	}
	var runs []flowruns.ScheduledRun
	for _, p := range all {
		d := deployments[p.deployment]
		if obsolete(p, d) || flows[d.GetFlowId()] == nil {
			continue
		}
		runs, err = s.appendRuns(runs, p, d, flows[d.GetFlowId()])
		if err != nil {
			return err
		}
	}
	created, err := s.runs.InsertScheduled(ctx, ws, runs)
	s.metrics.created.Add(float64(created))
	if created > 0 {
		s.log.InfoContext(ctx, "scheduled runs created", "deployments", len(deployments), "deployment_id", all[0].deployment, "runs", created)
	}
	if err != nil {
		return err
	}
	if len(runs) > 0 {
		if deployments, err = s.current(ctx, ws, all); err != nil {
			return err
		}
	}
	for _, p := range all {
		// An earlier execution of the effect may have ended between its insertion and its verification.
		if d := deployments[p.deployment]; obsolete(p, d) {
			if err := s.runs.RetractScheduled(ctx, ws, p.runIDs(), retracted(p, d)); err != nil {
				return fmt.Errorf("retract the runs of an obsolete plan: %w", err)
			}
		}
	}
	return nil
}

// current reads the deployments of plans. Deleted ones are absent.
func (s *Scheduler) current(ctx context.Context, ws uuid.UUID, all []planned) (map[uuid.UUID]*orchv1.Deployment, error) {
	ids := make([]uuid.UUID, len(all))
	for i, p := range all {
		ids[i] = p.deployment
	}
	found := make(map[uuid.UUID]*orchv1.Deployment, len(all))
	err := s.deployments.Each(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: store.OneOf(ids)}}, Sort: bson.D{{Key: "_id", Value: 1}}}, func(d *orchv1.Deployment) bool {
		if id, err := uuid.Parse(d.GetId()); err == nil {
			found[id] = d
		}
		return true
	})
	return found, err
}

// flowsOf reads the flows of deployments, by their ids.
func (s *Scheduler) flowsOf(ctx context.Context, ws uuid.UUID, deployments map[uuid.UUID]*orchv1.Deployment) (map[string]*orchv1.Flow, error) {
	found := map[string]*orchv1.Flow{}
	var ids []uuid.UUID
	for _, d := range deployments {
		if _, seen := found[d.GetFlowId()]; seen {
			continue
		}
		id, err := uuid.Parse(d.GetFlowId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a flow: %w", err)
		}
		found[d.GetFlowId()] = nil
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	err := s.flows.Each(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: store.OneOf(ids)}}, Sort: bson.D{{Key: "_id", Value: 1}}}, func(flow *orchv1.Flow) bool {
		found[flow.GetId()] = flow
		return true
	})
	return found, err
}
