package deployments

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// polled is the service in several replicas on one store, with a queue and its deployments.
type polled struct {
	*testing.T
	clock    *clock.Manual
	replicas []*Service
	ws       uuid.UUID
	queue    uuid.UUID
	written  atomic.Int64 // Deployments that any replica has written.
}

func newPolled(t *testing.T, replicas, deployments int) *polled {
	t.Helper()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	p := &polled{T: t, clock: clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), ws: uuid.New(), queue: uuid.New()}
	for range replicas {
		s, err := store.Open(t.Context(), store.Config{
			URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: p.clock, IDs: id.System(),
			Client: func(o *options.ClientOptions) {
				o.SetMonitor(&event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
					if n, ok := e.Reply.Lookup("nModified").AsInt64OK(); ok && e.CommandName == "update" {
						p.written.Add(n)
					}
				}})
			},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
		p.replicas = append(p.replicas, New(Deps{Store: s, Vocabulary: vocabulary.Orch}))
	}
	s := p.replicas[0]
	require.NoError(t, s.deployments.Store().EnsureIndexes(t.Context(), query.Indexes()))
	require.NoError(t, s.queues.Insert(t.Context(), p.ws, &orchv1.WorkQueue{Id: p.queue.String(), Name: "q", WorkPoolId: proto.String(uuid.NewString())}))
	all := make([]*orchv1.Deployment, deployments)
	for i := range all {
		all[i] = newDeployment(uuid.New())
		all[i].Name, all[i].FlowId, all[i].WorkQueueId = fmt.Sprint(i), uuid.NewString(), proto.String(p.queue.String())
	}
	_, err := store.InsertAll(t.Context(), s.deployments, p.ws, all)
	require.NoError(t, err)
	return p
}

// poll is what a poll of the queue writes, at one replica.
func (p *polled) poll(replica *Service) {
	p.Helper()
	_, err := replica.queues.Mutate(p.Context(), p.ws, p.queue, func(current *orchv1.WorkQueue, _ int64) (*store.Change[*orchv1.WorkQueue], error) {
		next := proto.CloneOf(current)
		next.LastPolled = timestamppb.New(p.clock.Now())
		return &store.Change[*orchv1.WorkQueue]{Message: next, Quiet: true}, nil
	})
	require.NoError(p, err)
	require.NoError(p, replica.Ready(p.Context(), p.ws, []uuid.UUID{p.queue}))
}

func (p *polled) statuses() map[orchv1.DeploymentStatus]int {
	p.Helper()
	found, err := store.FindVersions(p.Context(), p.replicas[0].deployments, p.ws, nil)
	require.NoError(p, err)
	counts := map[orchv1.DeploymentStatus]int{}
	for _, v := range found {
		counts[v.Message.GetStatus()]++
	}
	return counts
}

const (
	deploymentReady   = orchv1.DeploymentStatus_DEPLOYMENT_STATUS_READY
	deploymentUnready = orchv1.DeploymentStatus_DEPLOYMENT_STATUS_NOT_READY
)

// TestPollsWriteADeploymentAtMostEveryPollGrain: three replicas are polled for a minute, each every five seconds.
func TestPollsWriteADeploymentAtMostEveryPollGrain(t *testing.T) {
	t.Parallel()
	const deployments, minute = 100, 12
	p := newPolled(t, 3, deployments)
	p.poll(p.replicas[0])
	require.Equal(t, map[orchv1.DeploymentStatus]int{deploymentReady: deployments}, p.statuses())
	p.written.Store(0)
	for range minute {
		p.clock.Advance(5 * time.Second)
		for _, replica := range p.replicas {
			p.poll(replica)
		}
	}
	polls := int64(minute * len(p.replicas)) // Each writes the queue.
	require.LessOrEqual(t, p.written.Load()-polls, int64(deployments*3), "one write of each deployment in 20 s")
	require.NoError(t, p.replicas[1].Unready(t.Context(), p.clock.Now().Add(-time.Minute)))
	require.Equal(t, map[orchv1.DeploymentStatus]int{deploymentReady: deployments}, p.statuses())
}

// TestAPollBeforeTheCheckOfReadinessCounts: a poll has written its queue, and not yet the deployments, when the check examines them.
func TestAPollBeforeTheCheckOfReadinessCounts(t *testing.T) {
	t.Parallel()
	p := newPolled(t, 1, 3)
	s := p.replicas[0]
	p.poll(s)
	p.clock.Advance(2 * time.Minute)
	_, err := s.queues.Mutate(t.Context(), p.ws, p.queue, func(current *orchv1.WorkQueue, _ int64) (*store.Change[*orchv1.WorkQueue], error) {
		next := proto.CloneOf(current)
		next.LastPolled = timestamppb.New(p.clock.Now())
		return &store.Change[*orchv1.WorkQueue]{Message: next}, nil
	})
	require.NoError(t, err)
	require.NoError(t, s.Unready(t.Context(), p.clock.Now().Add(-time.Minute)))
	require.Equal(t, map[orchv1.DeploymentStatus]int{deploymentReady: 3}, p.statuses())

	p.clock.Advance(time.Minute + time.Second)
	require.NoError(t, s.Unready(t.Context(), p.clock.Now().Add(-time.Minute)))
	require.Equal(t, map[orchv1.DeploymentStatus]int{deploymentUnready: 3}, p.statuses())
}
