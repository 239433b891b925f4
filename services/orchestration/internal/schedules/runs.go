package schedules

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// appendRuns appends the runs of a plan. A schedule that was deleted meanwhile has none.
func (s *Scheduler) appendRuns(runs []flowruns.ScheduledRun, p planned, d *orchv1.Deployment, flow *orchv1.Flow) ([]flowruns.ScheduledRun, error) {
	index := uint64(0)
	for _, one := range p.batch.Schedules {
		if sched := Find(d, one.Schedule); sched != nil {
			made, err := s.runsOf(d, flow, sched, one.Times, p, index)
			if err != nil {
				return nil, err
			}
			runs = append(runs, made...)
		}
		index += uint64(len(one.Times))
	}
	return runs, nil
}

// Find returns the schedule of a deployment with an id; nil if it has none.
func Find(d *orchv1.Deployment, id string) *orchv1.DeploymentSchedule {
	for _, s := range d.GetSchedules() {
		if s.GetId() == id {
			return s
		}
	}
	return nil
}

// autoScheduledTag marks the runs of schedules.
const autoScheduledTag = "auto-scheduled"

// runsOf are the runs of a schedule at some times, of which index precede them in the plan. Parameters are taken as they
// are: whoever executes a run resolves them.
func (s *Scheduler) runsOf(
	d *orchv1.Deployment, flow *orchv1.Flow, sched *orchv1.DeploymentSchedule, times []int64, p planned, index uint64,
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
		name = KindOf(sched.GetSchedule())
	}
	runs := make([]flowruns.ScheduledRun, len(times))
	for i, us := range times {
		at := time.UnixMicro(us)
		run := NewRun(d, flow, autoScheduledTag, at)
		run.Generation, run.AutoScheduled = p.batch.Generation, true
		run.RunID, run.StateID = derivedID(p.effect, index+uint64(i), 'r'), derivedID(p.effect, index+uint64(i), 's')
		run.CreatedBy = &orchv1.CreatedBy{Id: &sched.Id, Type: new("SCHEDULE"), DisplayValue: &name}
		run.Run.Parameters, run.Run.Labels = params, &orchv1.Labels{Values: s.runs.LabelsOf(d, sched)}
		run.Run.IdempotencyKey = new(fmt.Sprintf("scheduled %s %s %s", d.GetId(), sched.GetId(), dateText(at.In(zone))))
		runs[i] = run
	}
	return runs, nil
}

// NewRun returns a run of a deployment that is scheduled for a time, with what it has of the deployment. Its ids, its origin, its key, its
// parameters and its labels are the caller's.
func NewRun(d *orchv1.Deployment, flow *orchv1.Flow, tag string, at time.Time) flowruns.ScheduledRun {
	return flowruns.ScheduledRun{
		Flow: flow,
		Creation: flowruns.Creation{
			DeploymentVersion: d.Version, WorkQueueID: d.WorkQueueId, WorkPoolName: d.WorkPoolName,
			Run: &orchv1.FlowRunCreate{
				FlowId: d.GetFlowId(), DeploymentId: &d.Id, InfrastructureDocumentId: d.InfrastructureDocumentId, WorkQueueName: d.WorkQueueName,
				Tags: append([]string{tag}, d.GetTags()...),
				State: &orchv1.StateCreate{
					Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Message: new("Flow run scheduled"), StateDetails: rules.NewDetails(timestamppb.New(at)),
				},
			},
		},
	}
}

// dateText writes a time as keys of the reference have it: 2026-11-21 05:00:00+00:00, with a fraction where there is one.
func dateText(t time.Time) string {
	layout := "2006-01-02 15:04:05-07:00"
	if t.Nanosecond() != 0 {
		layout = "2006-01-02 15:04:05.000000-07:00"
	}
	return t.Format(layout)
}

// derivedID is an id that follows from an effect, so that executing it twice creates nothing twice.
func derivedID(e store.Effect, index uint64, use byte) uuid.UUID {
	return id.Derived(e.At, binary.BigEndian.AppendUint64(append(e.ID[:], use), index))
}
