package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Servers of an earlier format may write for a day after the change of the format. Hours are counted, and the dictionary of names is filled,
// only afterwards.
func TestUpgradesAreTrustedADayLater(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	ctx, ws := t.Context(), uuid.New()
	db := w.database.Connect()
	_, err := db.Collection("meta").InsertOne(ctx, bson.D{{Key: "_id", Value: "format"}, {Key: "version", Value: int64(1)}, {Key: "vocabulary", Value: "orch"}})
	require.NoError(t, err)
	earlier := func(number int) { // As a server of format 1 does: without an opening, and without a term.
		run := oldRun(number, oldHour(5))
		run.Name = "amber-fox"
		doc, err := store.NewDocument(ws, run, time.Time{})
		require.NoError(t, err)
		_, err = db.Collection(string(query.FlowRun)).InsertOne(ctx, doc)
		require.NoError(t, err)
	}
	named := func() (complete bool) {
		names, complete, err := w.Resolver().Names(ctx, ws, query.FlowRun, "amber", bson.D{{Key: "$regex", Value: "amber"}})
		require.NoError(t, err)
		if complete {
			require.Equal(t, []string{"amber-fox"}, names)
		}
		return complete
	}
	earlier(1)
	require.NoError(t, w.Claim(ctx, vocabulary.Orch))
	for round := range 2 {
		require.Zero(t, w.count(t))
		require.Zero(t, w.withRows(t))
		added, err := w.FillNames(ctx)
		require.NoError(t, err)
		require.Zero(t, added)
		require.False(t, named())
		earlier(2 + round)
		w.clock.advance(hourtotals.TrustAfter / 3)
	}
	w.clock.advance(hourtotals.TrustAfter)
	require.Positive(t, w.count(t))
	require.Positive(t, w.withRows(t))
	require.EqualValues(t, 3, w.same(t, query.FlowRun, ws, bson.D{}, "hours are trusted"))
	added, err := w.FillNames(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, added)
	require.True(t, named())
	added, err = w.FillNames(ctx)
	require.NoError(t, err)
	require.Zero(t, added, "it is complete")
}
