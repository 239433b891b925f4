package concurrency

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// setSlots changes the slots of a deployment, which exists afterwards.
func (s *Service) setSlots(t *testing.T, deployment uuid.UUID, slots *int64) {
	t.Helper()
	_, err := s.deployments.Mutate(t.Context(), ws, deployment, func(current *orchv1.Deployment, _ int64) (*store.Change[*orchv1.Deployment], error) {
		next := proto.CloneOf(current)
		next.ConcurrencySlots = slots
		return &store.Change[*orchv1.Deployment]{Message: next}, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		err = s.deployments.Insert(t.Context(), ws, &orchv1.Deployment{Id: deployment.String(), Name: deployment.String(), FlowId: deployment.String(), ConcurrencySlots: slots})
	}
	require.NoError(t, err)
}

// slotsOfLimit is the size of a deployment's own limit; nil if there is none.
func (s *Service) slotsOfLimit(t *testing.T, deployment uuid.UUID) *int64 {
	t.Helper()
	found, err := s.limits.Find(t.Context(), ws, store.Query{Filter: named([]string{nameOfDeployment(deployment.String())}), Sort: byName})
	require.NoError(t, err)
	if len(found) == 0 {
		return nil
	}
	return proto.Int64(found[0].GetLimit())
}

// TestFollowDeploymentsAfterAStall: a replica stalls before a write of the effect of an older change. Another one executes the effects of
// that and of the newer change, and then the first one goes on. The limit must be that of the deployment.
func TestFollowDeploymentsAfterAStall(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	open := func(client func(o *options.ClientOptions)) *Service {
		s, err := store.Open(t.Context(), store.Config{
			URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.NewManual(noon), IDs: id.System(), Client: client,
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
		return New(NewLimits(s, vocabulary.Orch, nil))
	}
	other := open(nil)
	require.NoError(t, other.limits.Store().EnsureIndexes(t.Context(), query.Indexes()))
	for name, c := range map[string]struct{ first, older, newer *int64 }{
		"another size":           {proto.Int64(1), proto.Int64(5), proto.Int64(10)},
		"the size of before":     {proto.Int64(1), proto.Int64(5), proto.Int64(1)},
		"the same size":          {proto.Int64(10), proto.Int64(5), proto.Int64(10)},
		"no limit":               {proto.Int64(1), proto.Int64(5), nil},
		"the first limit":        {nil, proto.Int64(5), proto.Int64(10)},
		"no limit, of before":    {nil, proto.Int64(5), nil},
		"a deletion that is old": {proto.Int64(1), nil, proto.Int64(10)},
	} {
		for _, command := range []string{"find", "insert", "update"} {
			t.Run(name+", before "+command, func(t *testing.T) {
				t.Parallel()
				deployment := uuid.New()
				effect := func(slots *int64) []store.Effect {
					return []store.Effect{other.DeploymentEffect(ws, deployment, slots)}
				}
				set := func(slots *int64) {
					other.setSlots(t, deployment, slots)
					require.NoError(t, other.followDeployments(t.Context(), effect(slots)))
				}
				set(c.first)
				stalled, resume, late := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				var once sync.Once
				stalling := open(func(o *options.ClientOptions) {
					o.SetMonitor(&event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) {
						if _, follows := ctx.Value(stall{}).(bool); follows && e.CommandName == command {
							once.Do(func() { close(stalled); <-resume })
						}
					}})
				})
				other.setSlots(t, deployment, c.older)
				go func() {
					late <- stalling.followDeployments(context.WithValue(t.Context(), stall{}, true), effect(c.older))
					once.Do(func() { close(stalled) }) // It sent no such command.
				}()
				<-stalled
				require.NoError(t, other.followDeployments(t.Context(), effect(c.older)))
				set(c.newer)
				close(resume)
				require.NoError(t, <-late)
				require.Equal(t, c.newer, other.slotsOfLimit(t, deployment))

				// An operator retries the dead letter of an older change.
				require.NoError(t, other.followDeployments(t.Context(), effect(proto.Int64(7))))
				require.Equal(t, c.newer, other.slotsOfLimit(t, deployment))
			})
		}
	}
}

// stall marks the commands of the replica that stalls.
type stall struct{}

func TestFollowDeploymentsAfterADeletion(t *testing.T) {
	t.Parallel()
	services, _ := replicas(t, 1)
	s, deployment := services[0], uuid.New()
	s.setSlots(t, deployment, proto.Int64(3))
	effects := []store.Effect{s.DeploymentEffect(ws, deployment, proto.Int64(3))}
	require.NoError(t, s.followDeployments(t.Context(), effects))
	require.Equal(t, proto.Int64(3), s.slotsOfLimit(t, deployment))
	require.NoError(t, s.deployments.Delete(t.Context(), ws, deployment, func(*orchv1.Deployment) ([]store.Effect, error) { return nil, nil }))
	require.NoError(t, s.followDeployments(t.Context(), effects), "an effect of before the deletion")
	require.Nil(t, s.slotsOfLimit(t, deployment))
}
