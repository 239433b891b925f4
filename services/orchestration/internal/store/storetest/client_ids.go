package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// chosenIDsAreOfTheirWorkspace checks that the first of several events with one id in a workspace stays, independent of
// the ids in other workspaces and of deletions there.
func chosenIDsAreOfTheirWorkspace(t *testing.T, s *store.Store) {
	t.Helper()
	c := store.NewCollection(s, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs)
	type key struct{ ws, id uuid.UUID }
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		workspaces := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.Must(uuid.NewV7()), uuid.Max}
		ids[3][15] = byte(rapid.IntRange(0, 250).Draw(t, "last")) // Above all ids of the other runs, or not.
		drawn := func() key {
			return key{rapid.SampledFrom(workspaces).Draw(t, "workspace"), rapid.SampledFrom(ids).Draw(t, "id")}
		}
		want := map[key]string{}
		t.Cleanup(func() {
			for _, ws := range workspaces {
				_ = c.DeleteMany(t.Context(), ws, bson.D{})
			}
		})
		for n := range rapid.IntRange(1, 8).Draw(t, "batches") {
			if rapid.IntRange(0, 3).Draw(t, "expire") == 0 {
				gone := drawn()
				require.NoError(t, c.DeleteMany(ctx, gone.ws, byID(gone.ws, gone.id)))
				delete(want, gone)
			}
			var batch []store.ClientDocument
			for i := range rapid.IntRange(0, 6).Draw(t, "events") {
				k := drawn()
				name := strconv.Itoa(n) + "." + strconv.Itoa(i)
				doc, err := store.NewDocument(k.ws, &orchv1.ReceivedEvent{
					Id: k.id.String(), Event: name, Occurred: timestamppb.New(time.Unix(1, 0)), ResourceId: "r", ResourceIds: []string{"r"},
				}, time.Time{})
				require.NoError(t, err)
				batch = append(batch, store.ClientDocument{Workspace: k.ws, ID: k.id, Doc: doc})
				if _, there := want[k]; !there {
					want[k] = name
				}
			}
			refused, err := store.InsertClientIDs(ctx, c, batch)
			require.NoError(t, err)
			require.Empty(t, refused)
		}
		got := map[key]string{}
		for _, ws := range workspaces {
			found, err := c.Find(ctx, ws, store.Query{Sort: query.EventSort(orchv1.EventOrder_EVENT_ORDER_ASC)})
			require.NoError(t, err)
			for _, e := range found {
				k := key{ws, uuid.MustParse(e.GetId())}
				require.NotContains(t, got, k)
				got[k] = e.GetEvent()
				one, err := c.Find(ctx, ws, store.Query{Filter: byID(ws, k.id), Sort: query.EventSort(orchv1.EventOrder_EVENT_ORDER_ASC)})
				require.NoError(t, err)
				require.Len(t, one, 1)
				require.Equal(t, e.GetEvent(), one[0].GetEvent())
			}
		}
		require.Equal(t, sorted(want), sorted(got))
	})
}

func byID(ws, id uuid.UUID) bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: bson.A{store.Binary(id), query.CollisionKey(ws, id)}}}}}
}

// sorted returns the values of a map with their keys, in a deterministic order for reports.
func sorted[K comparable](m map[K]string) []string {
	values := slices.Collect(maps.Values(m))
	slices.SortFunc(values, cmp.Compare)
	return values
}
