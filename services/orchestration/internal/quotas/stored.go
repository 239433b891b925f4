package quotas

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/grpc"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// creations are the rpcs that are refused beyond the quota of stored bytes. Begin refuses the creations that another quota counts.
var creations = map[string]bool{
	orchv1.BackfillService_CreateBackfill_FullMethodName:                     true,
	orchv1.BlockTypeService_CreateBlockType_FullMethodName:                   true,
	orchv1.BlockSchemaService_CreateBlockSchema_FullMethodName:               true,
	orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName: true,
	orchv1.ConcurrencyLimitService_CreateConcurrencyLimit_FullMethodName:     true,
	orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName:      true,
	orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName:        true,
	orchv1.DestinationService_CreateDestination_FullMethodName:               true,
	orchv1.FlowRunService_CreateFlowRun_FullMethodName:                       true,
	orchv1.SavedSearchService_CreateSavedSearch_FullMethodName:               true,
	orchv1.VariableService_CreateVariable_FullMethodName:                     true,
	orchv1.WebhookService_CreateWebhookSample_FullMethodName:                 true,
	orchv1.WorkPoolService_CreateWorkPool_FullMethodName:                     true,
	orchv1.WorkPoolService_CreateWorkPoolQueue_FullMethodName:                true,
	orchv1.WorkQueueService_CreateWorkQueue_FullMethodName:                   true,
}

// Creates reports whether an rpc is refused beyond the quota of stored bytes.
func Creates(method string) bool { return creations[method] }

// Interceptor refuses creations beyond the quota of stored bytes. It is for the calls of clients: schedules and automations continue.
func (s *Service) Interceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, in any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if creations[call.FullMethod] && !ofARun(in) {
			info, err := request.Incoming(ctx)
			if err != nil {
				return nil, err
			}
			if err := s.checkStored(ctx, info.Account, s.own); err != nil {
				return nil, err
			}
		}
		return next(ctx, in)
	}
}

// ofARun reports whether a request is that of a running flow run, for a subflow.
func ofARun(in any) bool {
	switch r := in.(type) {
	case *orchv1.CreateFlowRunRequest:
		return r.GetFlowRun().ParentTaskRunId != nil
	case *orchv1.CreateFlowRunFromDeploymentRequest:
		return r.GetFlowRun().ParentTaskRunId != nil
	}
	return false
}

// quotasOf reads the quotas that the operator has set for an account.
type quotasOf func(ctx context.Context, account uuid.UUID) (*orchv1.AccountQuotas, error)

// checkStored refuses a creation of an account whose last measurement exceeds its quota.
func (s *Service) checkStored(ctx context.Context, account uuid.UUID, own quotasOf) error {
	use, err := s.storedOf(ctx, account, own)
	if err != nil || !use.usedUp() {
		return err
	}
	s.refuse(ctx, account, quota.StoredBytes, use.limit)
	return quota.Refused(quota.StoredBytes, use.limit, "delete documents, or ask the operator for more. Running runs continue.")
}

// StoredBytesUsedUp reports whether the last measurement of an account exceeds its quota of stored bytes. A nil service has no quotas.
func (s *Service) StoredBytesUsedUp(ctx context.Context, account uuid.UUID) (bool, error) {
	if s == nil {
		return false, nil
	}
	use, err := s.storedOf(ctx, account, s.own)
	return use.usedUp(), err
}

// storedOf returns the use of the quota of an account, as old as storedFor.
func (s *Service) storedOf(ctx context.Context, account uuid.UUID, own quotasOf) (stored, error) {
	now := s.registry.Store.Now()
	s.mu.Lock()
	cached, ok := s.stored[account]
	s.mu.Unlock()
	if !ok || !now.Before(cached.until) || cached.until.Sub(now) > storedFor {
		var err error
		if cached, err = s.readStored(ctx, account, own); err != nil {
			return stored{}, err
		}
		cached.until = now.Add(storedFor)
		s.mu.Lock()
		if len(s.stored) >= maxStored {
			clear(s.stored)
		}
		s.stored[account] = cached
		s.mu.Unlock()
	}
	return cached, nil
}

func (s *Service) readStored(ctx context.Context, account uuid.UUID, own quotasOf) (stored, error) {
	quotas, err := own(ctx, account)
	if err != nil {
		return stored{}, err
	}
	limit := s.defaults.Of(quotas, quota.StoredBytes)
	if limit <= 0 {
		return stored{}, nil
	}
	usage, err := s.read(ctx, account)
	return stored{limit: limit, bytes: usage.GetStoredBytes()}, err
}

// read returns the last measurement of an account, nil before the first one.
func (s *Service) read(ctx context.Context, account uuid.UUID) (*orchv1.AccountUsage, error) {
	usage, err := s.usage.First(ctx, account, bson.D{})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return usage, err
}
