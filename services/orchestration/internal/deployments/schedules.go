package deployments

import (
	"context"
	"net/http"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// ReadDeploymentSchedules returns the schedules of a deployment.
func (s *Service) ReadDeploymentSchedules(ctx context.Context, r *orchv1.ReadDeploymentSchedulesRequest) (*orchv1.DeploymentScheduleList, error) {
	_, d, err := s.read(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return &orchv1.DeploymentScheduleList{Schedules: latestFirst(d.GetSchedules())}, nil
}

// latestFirst are schedules in the order in which they are shown: the one that was changed last before all others. They
// are kept in the order in which they came.
func latestFirst(schedules []*orchv1.DeploymentSchedule) []*orchv1.DeploymentSchedule {
	shown := slices.Clone(schedules)
	slices.Reverse(shown)
	slices.SortStableFunc(shown, func(a, b *orchv1.DeploymentSchedule) int {
		return b.GetUpdated().AsTime().Compare(a.GetUpdated().AsTime())
	})
	return shown
}

// CreateDeploymentSchedules adds schedules to a deployment, and answers those.
func (s *Service) CreateDeploymentSchedules(ctx context.Context, r *orchv1.CreateDeploymentSchedulesRequest) (*orchv1.DeploymentScheduleList, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	db := s.deployments.Store()
	added := &orchv1.DeploymentScheduleList{}
	for _, create := range r.GetSchedules() {
		schedule, err := newSchedule(create, id.String(), db.NewID(), db.Now())
		if err != nil {
			return nil, err
		}
		added.Schedules = append(added.Schedules, schedule)
	}
	_, err = s.change(ctx, ws, id, flowruns.NoneScheduled, func(d *orchv1.Deployment) error {
		d.Schedules = append(d.GetSchedules(), added.GetSchedules()...)
		if distinctSlugs(d.GetSchedules()) != nil {
			return rpc.Detail(http.StatusConflict, "Schedule slugs must be unique within a deployment.")
		}
		return nil
	})
	return added, translate(err)
}

// UpdateDeploymentSchedule changes the fields that the request contains of a schedule.
func (s *Service) UpdateDeploymentSchedule(ctx context.Context, r *orchv1.UpdateDeploymentScheduleRequest) (*emptypb.Empty, error) {
	return s.changeSchedule(ctx, r.GetId(), flowruns.AutoFuture, func(d *orchv1.Deployment) error {
		at := find(d, r.GetScheduleId())
		if at < 0 {
			return errScheduleNotFound()
		}
		edited, err := overlaySchedule(d.GetSchedules()[at], r.GetSchedule(), notNull(r.GetSchedule(), r.GetUpdateMask().GetPaths()), s.deployments.Store().Now())
		if err != nil {
			return err
		}
		d.Schedules[at] = edited
		return distinctSlugs(d.GetSchedules())
	})
}

// DeleteDeploymentSchedule deletes a schedule.
func (s *Service) DeleteDeploymentSchedule(ctx context.Context, r *orchv1.DeleteDeploymentScheduleRequest) (*emptypb.Empty, error) {
	return s.changeSchedule(ctx, r.GetId(), flowruns.AutoScheduled, func(d *orchv1.Deployment) error {
		at := find(d, r.GetScheduleId())
		if at < 0 {
			return errScheduleNotFound()
		}
		d.Schedules = slices.Delete(d.GetSchedules(), at, at+1)
		return nil
	})
}

func (s *Service) changeSchedule(ctx context.Context, deployment string, obsolete flowruns.Unstarted, edit func(*orchv1.Deployment) error) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, deployment)
	if err != nil {
		return nil, translate(err)
	}
	if _, err := s.change(ctx, ws, id, obsolete, edit); err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

func errScheduleNotFound() error { return rpc.Detail(http.StatusNotFound, "Schedule not found.") }

// notNull returns a mask without the optional fields that were sent as null: a schedule keeps them.
func notNull(update *orchv1.DeploymentScheduleUpdate, mask []string) []string {
	r := update.ProtoReflect()
	return slices.DeleteFunc(slices.Clone(mask), func(name string) bool {
		fd := r.Descriptor().Fields().ByName(protoreflect.Name(name))
		return fd != nil && fd.HasPresence() && !r.Has(fd)
	})
}

// find is the place of a schedule, -1 when the deployment has none of that id.
func find(d *orchv1.Deployment, id string) int {
	return slices.IndexFunc(d.GetSchedules(), func(s *orchv1.DeploymentSchedule) bool { return s.GetId() == id })
}

// overlaySchedule is a schedule with the fields that a mask names.
func overlaySchedule(current *orchv1.DeploymentSchedule, update *orchv1.DeploymentScheduleUpdate, mask []string, now time.Time) (*orchv1.DeploymentSchedule, error) {
	next := proto.Clone(current).(*orchv1.DeploymentSchedule)
	if slices.Contains(fieldmask.Apply(next, update, mask, "schedule"), "schedule") && update.Schedule != nil {
		times, err := settle(update.GetSchedule(), now)
		if err != nil {
			return nil, err
		}
		next.Schedule = times
	}
	if err := checkMaxScheduledRuns(next.MaxScheduledRuns); err != nil {
		return nil, err
	}
	if !proto.Equal(current, next) {
		next.Updated = timestamppb.New(now)
	}
	return next, nil
}
