package deployments

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// PauseDeployment pauses the schedules and deletes their runs that have not begun.
func (s *Service) PauseDeployment(ctx context.Context, r *orchv1.PauseDeploymentRequest) (*emptypb.Empty, error) {
	return s.pause(ctx, r.GetId(), true, flowruns.AutoScheduled)
}

// ResumeDeployment resumes the schedules.
func (s *Service) ResumeDeployment(ctx context.Context, r *orchv1.ResumeDeploymentRequest) (*emptypb.Empty, error) {
	return s.pause(ctx, r.GetId(), false, flowruns.NoneScheduled)
}

func (s *Service) pause(ctx context.Context, deployment string, paused bool, obsolete flowruns.Unstarted) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, deployment)
	if err != nil {
		return nil, translate(err)
	}
	_, err = s.change(ctx, ws, id, obsolete, func(d *orchv1.Deployment) error {
		d.Paused = paused
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}
