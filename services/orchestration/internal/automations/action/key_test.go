package action

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// keyWorld is a runner over a store, without a relay.
type keyWorld struct {
	*Runner
	now        *clock.Manual
	ws         uuid.UUID
	automation *orchv1.Automation
}

func newKeyWorld(t *testing.T) *keyWorld {
	t.Helper()
	w := &keyWorld{now: clock.NewManual(noon), ws: uuid.New(), automation: &orchv1.Automation{Id: uuid.NewString()}}
	w.Runner = New(Deps{
		Store:   storetest.Embedded(t, w.now),
		Account: func(context.Context, uuid.UUID) (uuid.UUID, error) { return uuid.Nil, nil },
	})
	return w
}

func (w *keyWorld) batch(key string, payload int) (*orchv1.AutomationActionRun, *orchv1.RunDeployment) {
	action := &orchv1.RunDeployment{Batch: &orchv1.Batch{Key: key, MaxEvents: 50, Timeout: durationpb.New(time.Hour)}}
	return &orchv1.AutomationActionRun{
		Id: uuid.NewString(), Automation: w.automation, Action: &orchv1.Action{Kind: &orchv1.Action_RunDeployment{RunDeployment: action}},
		Firing: &orchv1.AutomationFiring{Id: uuid.NewString(), Event: &orchv1.ReceivedEvent{Payload: make([]byte, payload)}},
	}, action
}

// executing collects an action run that may be executed again.
func (w *keyWorld) executing(t *testing.T) (run *orchv1.AutomationActionRun, action *orchv1.RunDeployment) {
	t.Helper()
	run, action = w.batch("k", 0)
	run.Next = proto.Int64(noon.UnixMicro())
	_, err := store.InsertAll(t.Context(), w.runs, w.ws, []*orchv1.AutomationActionRun{run})
	require.NoError(t, err)
	require.Empty(t, w.collect(t.Context(), newResult(), w.ws, run, action).reason)
	return run, action
}

func (w *keyWorld) stored(t *testing.T) []*orchv1.AutomationKey {
	t.Helper()
	keys, err := w.keys.Find(t.Context(), w.ws, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}})
	require.NoError(t, err)
	return keys
}

// Large firings complete a batch early.
func TestBatchesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	w := newKeyWorld(t)
	for i := range 6 {
		run, action := w.batch("k", maxCollectedBytes/3)
		require.Empty(t, w.collect(t.Context(), newResult(), w.ws, run, action).reason)
		keys := w.stored(t)
		require.Len(t, keys, 1)
		require.Len(t, keys[0].GetCollected().GetFiring().GetChildren(), (i+1)%2)
	}
}

// An action run that may be executed again stays in the ledger, and so it is collected once.
func TestALedgerKeepsUnfinishedActionRuns(t *testing.T) {
	t.Parallel()
	w := newKeyWorld(t)
	first, action := w.executing(t)
	for range 2*maxLedger + 1 {
		run, action := w.batch("k", 0)
		require.Empty(t, w.collect(t.Context(), newResult(), w.ws, run, action).reason)
	}
	before := w.stored(t)[0]
	require.Less(t, len(before.GetLedger()), 2*maxLedger*len(uuid.UUID{}))
	require.Empty(t, w.collect(t.Context(), newResult(), w.ws, first, action).reason)
	require.True(t, proto.Equal(before, w.stored(t)[0]))
}

// A key without work is removed after a while; one whose action run may be executed again is kept.
func TestIdleKeysAreRemoved(t *testing.T) {
	t.Parallel()
	w := newKeyWorld(t)
	run, _ := w.executing(t)
	w.now.Advance(time.Hour)
	require.NoError(t, w.examineKeys(t.Context()))
	require.Nil(t, w.stored(t)[0].GetCollected())
	w.now.Advance(idleKey)
	require.NoError(t, w.examineKeys(t.Context()))
	require.Len(t, w.stored(t), 1)
	_, err := w.runs.Mutate(t.Context(), w.ws, uuid.MustParse(run.GetId()), store.Edit(func(next *orchv1.AutomationActionRun) error {
		next.Next, next.Expires = nil, proto.Int64(1)
		return nil
	}, nil))
	require.NoError(t, err)
	w.now.Advance(idleKey)
	require.NoError(t, w.examineKeys(t.Context()))
	require.Empty(t, w.stored(t))
}

func TestKeysOfAnAutomationAreBoundedInNumber(t *testing.T) {
	t.Parallel()
	w := newKeyWorld(t)
	full := make([]*orchv1.AutomationKey, maxKeys)
	for i := range full {
		full[i] = &orchv1.AutomationKey{Id: uuid.NewString(), AutomationId: w.automation.GetId(), Due: noon.Add(time.Hour).UnixMicro()}
	}
	_, err := store.InsertAll(t.Context(), w.keys, w.ws, full)
	require.NoError(t, err)
	run, action := w.batch("one more", 0)
	o := w.collect(t.Context(), newResult(), w.ws, run, action)
	require.Contains(t, o.reason, fmt.Sprintf("%d keys already", maxKeys))
	require.False(t, o.transient)
}
