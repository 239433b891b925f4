package retention

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// runFor bounds the deletions of one call.
const runFor = 10 * time.Second

// RunRetention deletes what the rules of the workspace select, for a bounded time.
func (s *Service) RunRetention(ctx context.Context, _ *emptypb.Empty) (*orchv1.RetentionRun, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	policy, err := s.policy(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	now := s.now()
	all := steps(info.Workspace, policy.GetRules(), now)
	for _, one := range all {
		s.resume(one, now)
	}
	s.work(ctx, all, time.Now().Add(runFor))
	run := &orchv1.RetentionRun{Complete: true}
	for _, one := range all {
		if one.failed != nil {
			return nil, one.failed
		}
		run.Complete = run.GetComplete() && one.done
		run.Steps = append(run.Steps, &orchv1.RetentionRunStep{
			Rule: one.rule, Before: timestamppb.New(one.expired.Before), Deleted: one.deleted,
		})
	}
	return run, nil
}
