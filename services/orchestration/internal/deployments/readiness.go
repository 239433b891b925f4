package deployments

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// wordReady is the stored word of the status of a deployment that somebody polls.
const wordReady = "READY"

// Ready marks the deployments of queues as polled now. Deployments that were ready are written together, at most once in pollGrain, however
// many replicas are polled. Each of the others is published as ready.
func (s *Service) Ready(ctx context.Context, ws uuid.UUID, queues []uuid.UUID) error {
	ids := make(bson.A, len(queues))
	for i, id := range queues {
		ids[i] = store.Binary(id)
	}
	inQueues := bson.E{Key: "work_queue_id", Value: bson.D{{Key: "$in", Value: ids}}}
	now := s.deployments.Store().Now()
	recent := bson.D{{Key: "$gt", Value: now.Add(-pollGrain).UnixMicro()}, {Key: "$lte", Value: now.UnixMicro()}}
	err := s.deployments.Store().UpdateMany(ctx, query.Deployment, ws,
		bson.D{inQueues, {Key: "status", Value: wordReady}, {Key: "last_polled", Value: bson.D{{Key: "$not", Value: recent}}}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "last_polled", Value: now.UnixMicro()}}}})
	if err != nil {
		return err
	}
	unready, err := s.deployments.Find(ctx, ws, store.Query{Filter: bson.D{inQueues, {Key: "status", Value: bson.D{{Key: "$ne", Value: wordReady}}}}, Sort: bson.D{{Key: "_id", Value: 1}}})
	if err != nil {
		return err
	}
	for _, d := range unready {
		id, err := resourceid.Parse(d.GetId())
		if err != nil {
			return err
		}
		if err := s.polled(ctx, ws, id); err != nil {
			return err
		}
	}
	return nil
}

// Unready marks those deployments of all workspaces as not ready that nobody has polled since a moment, neither them nor
// their queues.
func (s *Service) Unready(ctx context.Context, since time.Time) error {
	silent := []store.Owned[*orchv1.Deployment]{}
	err := s.deployments.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "status", Value: wordReady}}}, func(ws uuid.UUID, d *orchv1.Deployment) error {
		if unpolled(d, since) {
			silent = append(silent, store.Owned[*orchv1.Deployment]{Workspace: ws, Message: d})
		}
		return nil
	})
	if err != nil {
		return err
	}
	pass := s.deployments.Store().Pass(ctx, "mark deployments not ready")
	for _, one := range silent {
		err := s.markUnready(ctx, one.Workspace, one.Message, since)
		if pass.Record(err, "workspace", one.Workspace, "deployment_id", one.Message.GetId()) != nil {
			break
		}
	}
	return pass.Err()
}

func (s *Service) markUnready(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, since time.Time) error {
	id, err := resourceid.Parse(d.GetId())
	if err != nil {
		return err
	}
	_, err = s.deployments.Mutate(ctx, ws, id, func(current *orchv1.Deployment, _ int64) (*store.Change[*orchv1.Deployment], error) {
		if !unpolled(current, since) {
			return nil, nil
		}
		// A poll of its queue writes the queue first. That write decides: the one of the deployment may be on its way.
		if polled, err := s.queuePolled(ctx, ws, current, since); err != nil || polled {
			return nil, err
		}
		next := proto.CloneOf(current)
		next.Status = orchv1.DeploymentStatus_DEPLOYMENT_STATUS_NOT_READY.Enum()
		changed, err := s.lifecycle(ws, next, "not-ready", nil)
		return &store.Change[*orchv1.Deployment]{Message: next, Quiet: true, Effects: []store.Effect{changed}}, err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// queuePolled reports whether somebody has polled the queue of a deployment since a moment.
func (s *Service) queuePolled(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, since time.Time) (bool, error) {
	if d.WorkQueueId == nil {
		return false, nil
	}
	id, err := resourceid.Parse(d.GetWorkQueueId())
	if err != nil {
		return false, err
	}
	queue, err := s.queues.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && queue.LastPolled != nil && !queue.GetLastPolled().AsTime().Before(since), err
}

// unpolled tells whether a deployment counts as ready and nobody has polled it since a moment. The poll of its queue counts
// as its own.
func unpolled(d *orchv1.Deployment, since time.Time) bool {
	return d.GetStatus() == orchv1.DeploymentStatus_DEPLOYMENT_STATUS_READY && (d.LastPolled == nil || d.GetLastPolled().AsTime().Before(since))
}
