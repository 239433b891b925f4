package flowruns

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/feeds"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A pool is announced for runs that a channel must read now. Channels find the others when they poll.
func TestOnlyRunsThatStartSoonAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var announced []string
	w.service.onWaiting = func(_ uuid.UUID, pool string) { announced = append(announced, pool) }
	at := func(pool string, kind orchv1.StateType, name string, ahead time.Duration) *orchv1.FlowRun {
		return &orchv1.FlowRun{
			WorkPoolName: &pool, State: &orchv1.State{Type: kind, Name: &name},
			NextScheduledStartTime: timestamppb.New(w.clock.Now().Add(ahead)),
		}
	}
	w.service.notifyWaiting(
		w.ws,
		at("now", scheduled, nameScheduled, 0),
		at("now", scheduled, nameScheduled, 0),
		at("soon", scheduled, "AwaitingRetry", feeds.RunsAhead),
		at("later", scheduled, nameScheduled, feeds.RunsAhead+time.Second),
		at("late", scheduled, nameLate, -time.Hour),
		at("taken", pending, "Pending", 0),
		at("", scheduled, nameScheduled, 0),
	)
	require.Equal(t, []string{"now", "soon"}, announced)
}
