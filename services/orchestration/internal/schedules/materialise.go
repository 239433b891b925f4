package schedules

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
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
func effect(of *store.Store, ws, deployment uuid.UUID, b batch) (store.Effect, error) {
	e := of.About(KindMaterialise, ws, deployment)
	body, err := json.Marshal(b)
	if err != nil {
		return store.Effect{}, fmt.Errorf("encode scheduled runs: %w", err)
	}
	e.Body = append(e.Body, body...)
	return e, nil
}

// subjectSize is the length of the two ids that an effect's body begins with.
const subjectSize = 32

// Materialise executes effects of that kind. Runs of deployments, flows and schedules that have gone or were changed since
// are not inserted.
func (s *Scheduler) Materialise(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) < subjectSize {
			return store.Permanent(fmt.Errorf("decode effect: %d bytes are not two ids", len(e.Body)))
		}
		var b batch
		if err := json.Unmarshal(e.Body[subjectSize:], &b); err != nil {
			return store.Permanent(fmt.Errorf("decode effect: scheduled runs: %w", err))
		}
		subject := e
		subject.Body = e.Body[:subjectSize]
		ws, id, err := subject.Subject()
		if err != nil {
			return err
		}
		if err := s.insert(ctx, ws, id, e, b); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (s *Scheduler) insert(ctx context.Context, ws, id uuid.UUID, e store.Effect, b batch) error {
	d, err := s.deployments.Get(ctx, ws, id)
	if err != nil {
		return err
	}
	if d.GetScheduleGeneration() != b.Generation {
		return nil
	}
	flowID, err := uuid.Parse(d.GetFlowId())
	if err != nil {
		return fmt.Errorf("read the id of a flow: %w", err)
	}
	flow, err := s.flows.Get(ctx, ws, flowID)
	if err != nil {
		return err
	}
	var runs []flowruns.ScheduledRun
	index := uint64(0)
	for _, p := range b.Schedules {
		sched := find(d, p.Schedule)
		if sched == nil {
			index += uint64(len(p.Times))
			continue
		}
		made, err := s.runsOf(d, sched, p.Times, e, index, b.Generation)
		if err != nil {
			return err
		}
		index += uint64(len(p.Times))
		runs = append(runs, made...)
	}
	created, err := s.runs.InsertScheduled(ctx, ws, flow, runs)
	s.metrics.created.Add(float64(created))
	if created > 0 {
		s.log.InfoContext(ctx, "scheduled runs created", "deployment_id", d.GetId(), "deployment", d.GetName(), "runs", created)
	}
	return err
}

func find(d *orchv1.Deployment, id string) *orchv1.DeploymentSchedule {
	for _, s := range d.GetSchedules() {
		if s.GetId() == id {
			return s
		}
	}
	return nil
}

// autoScheduledTag marks the runs of schedules.
const autoScheduledTag = "auto-scheduled"

// runsOf are the runs of a schedule at some times. Parameters are taken as they are: whoever executes a run resolves them.
func (s *Scheduler) runsOf(
	d *orchv1.Deployment, sched *orchv1.DeploymentSchedule, times []int64, e store.Effect, index uint64, generation int64,
) ([]flowruns.ScheduledRun, error) {
	params, err := parameters.Merge(d.GetParameters(), sched.GetParameters())
	if err != nil {
		return nil, fmt.Errorf("merge the parameters of a schedule: %w", err)
	}
	zone := time.UTC
	if parsed, err := Parse(sched.GetSchedule(), s.store.Now()); err == nil {
		zone = parsed.Location()
	}
	name := sched.GetSlug()
	if name == "" {
		name = kindOf(sched.GetSchedule())
	}
	runs := make([]flowruns.ScheduledRun, len(times))
	for i, us := range times {
		at := time.UnixMicro(us)
		key := fmt.Sprintf("scheduled %s %s %s", d.GetId(), sched.GetId(), dateText(at.In(zone)))
		runs[i] = flowruns.ScheduledRun{
			RunID: derivedID(e, index+uint64(i), 'r'), StateID: derivedID(e, index+uint64(i), 's'), Generation: generation,
			Creation: flowruns.Creation{
				DeploymentVersion: d.Version, WorkQueueID: d.WorkQueueId, WorkPoolName: d.WorkPoolName, AutoScheduled: true,
				CreatedBy: &orchv1.CreatedBy{Id: &sched.Id, Type: new("SCHEDULE"), DisplayValue: &name},
				Run: &orchv1.FlowRunCreate{
					FlowId: d.GetFlowId(), DeploymentId: &d.Id, Parameters: params, IdempotencyKey: &key,
					InfrastructureDocumentId: d.InfrastructureDocumentId, WorkQueueName: d.WorkQueueName,
					Tags:   append([]string{autoScheduledTag}, d.GetTags()...),
					Labels: &orchv1.Labels{Values: d.GetLabels()},
					State: &orchv1.StateCreate{
						Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Message: new("Flow run scheduled"),
						StateDetails: rules.NewDetails(timestamppb.New(at)),
					},
				},
			},
		}
	}
	return runs, nil
}

// dateText writes a time as keys of the reference have it: 2026-11-21 05:00:00+00:00, with a fraction where there is one.
func dateText(t time.Time) string {
	layout := "2006-01-02 15:04:05-07:00"
	if t.Nanosecond() != 0 {
		layout = "2006-01-02 15:04:05.000000-07:00"
	}
	return t.Format(layout)
}

// derivedID is an id that follows from an effect, so that executing it twice creates nothing twice. It sorts by the time of
// the effect, as other ids do.
func derivedID(e store.Effect, index uint64, use byte) uuid.UUID {
	seed := append(e.ID[:], use)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(seed, index))
	id := uuid.UUID(sum[:16])
	binary.BigEndian.PutUint16(id[0:], uint16(e.At.UnixMilli()>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(e.At.UnixMilli()))
	id[6] = id[6]&0x0f | 0x70 // Version 7.
	id[8] = id[8]&0x3f | 0x80
	return id
}
