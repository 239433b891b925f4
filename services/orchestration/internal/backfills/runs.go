package backfills

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

// backfillTag marks the runs of backfills.
const backfillTag = "backfill"

// runID returns the id of the run of a backfill at a time in microseconds.
func runID(b *orchv1.Backfill, at int64) uuid.UUID { return derivedID(b, at, 'r') }

func derivedID(b *orchv1.Backfill, at int64, use byte) uuid.UUID {
	return id.Derived(b.GetCreated().AsTime(), binary.BigEndian.AppendUint64([]byte(b.GetId()+string(use)), uint64(at)))
}

// runIDs returns the ids of the unfinished runs.
func runIDs(b *orchv1.Backfill) []uuid.UUID {
	ids := make([]uuid.UUID, len(b.GetUnfinished()))
	for i, at := range b.GetUnfinished() {
		ids[i] = runID(b, at)
	}
	return ids
}

// storeRuns stores the runs whose times were written, and which were not stored before. Storing them again has no effect.
func (s *Service) storeRuns(ctx context.Context, ws uuid.UUID, b *orchv1.Backfill, d *orchv1.Deployment, flow *orchv1.Flow) error {
	params, err := parameters.Merge(d.GetParameters(), b.GetParameters())
	if err != nil {
		return fmt.Errorf("merge the parameters of a backfill: %w", err)
	}
	now := s.backfills.Store().Now()
	var runs []flowruns.ScheduledRun
	for _, at := range b.GetUnfinished() {
		if b.StoredUntil != nil && at <= b.GetStoredUntil() {
			continue
		}
		run := schedules.NewRun(d, flow, backfillTag, now)
		run.RunID, run.StateID = runID(b, at), derivedID(b, at, 's')
		run.ExpectedStart = timestamppb.New(time.UnixMicro(at))
		run.CreatedBy = &orchv1.CreatedBy{Id: &b.Id, Type: new("BACKFILL"), DisplayValue: new(schedules.KindOf(b.GetSchedule()))}
		run.Run.Parameters, run.Run.IdempotencyKey = params, new(fmt.Sprintf("backfill %s %d", b.GetId(), at))
		labels := s.runs.LabelsOf(d, nil)
		labels[s.label] = &orchv1.Scalar{Kind: &orchv1.Scalar_StringValue{StringValue: b.GetId()}}
		run.Run.Labels = &orchv1.Labels{Values: labels}
		runs = append(runs, run)
	}
	created, err := s.runs.InsertScheduled(ctx, ws, runs)
	s.metrics.created.Add(float64(created))
	return err
}

// cancelRuns cancels the unfinished runs of a cancelled backfill.
func (s *Service) cancelRuns(ctx context.Context, ws uuid.UUID, b *orchv1.Backfill) error {
	var failures []error
	for _, run := range runIDs(b) {
		failures = append(failures, s.runs.Cancel(ctx, ws, run, "The backfill was cancelled."))
	}
	return errors.Join(failures...)
}

// relatedOf returns the related resources of the events of a backfill.
func relatedOf(v vocabulary.Vocabulary) func(*orchv1.Backfill) []*orchv1.RelatedResource {
	return func(b *orchv1.Backfill) []*orchv1.RelatedResource {
		return []*orchv1.RelatedResource{events.Related(v, "deployment", b.GetDeploymentId(), "deployment", "")}
	}
}
