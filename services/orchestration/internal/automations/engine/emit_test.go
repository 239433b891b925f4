package engine

import (
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// A crash between the writes of a firing's actions loses none: the first one is stored last, so nothing is due before all of
// its followers exist. A run that ends wakes its follower only once.
func TestTheFirstActionOfAFiringIsStoredLast(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{TestCommands: true, NoSync: true})
	e := New(Deps{
		Store: storetest.Connect(t, database, clock.NewManual(noon)), Vocabulary: vocabulary.Orch, Log: slog.New(slog.DiscardHandler),
	})
	a := everyGo(t, uuid.New())
	for range 3 {
		a.Message.Actions = append(a.Message.Actions, &orchv1.Action{Kind: &orchv1.Action_DoNothing{DoNothing: &orchv1.DoNothing{}}})
	}
	runs := actionRuns(trigger.RootFiring{Automation: a, Firing: &orchv1.AutomationFiring{Id: uuid.NewString()}}, uuid.NewString(), noon)
	database.FailCommands(t, bson.D{{Key: "skip", Value: 1}}, bson.D{
		{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "errorCode", Value: 91},
	})
	require.Error(t, e.storeActionRuns(t.Context(), a.Workspace, runs))
	due := func() (indexes []int32) {
		found, err := e.actions.Find(t.Context(), a.Workspace, store.Query{Sort: bson.D{{Key: "index", Value: 1}}})
		require.NoError(t, err)
		for _, run := range found {
			indexes = append(indexes, run.GetIndex())
		}
		return indexes
	}
	require.Equal(t, []int32{1, 2}, due())
	database.FailCommands(t, "off", nil)
	require.NoError(t, e.storeActionRuns(t.Context(), a.Workspace, runs))
	require.Equal(t, []int32{0, 1, 2}, due())
}
