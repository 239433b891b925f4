package assets

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

type world struct {
	*testing.T
	service *Service
	ws      uuid.UUID
	ctx     context.Context
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, service: New(storetest.Embedded(t, clock.NewManual(noon)), vocabulary.Orch), ws: uuid.New()}
	w.ctx = requesttest.Incoming(t, w.ws)
	return w
}

// event is an event of a resource, some seconds after noon.
func (w *world) event(name, resource string, seconds int) events.Received {
	return events.Received{Workspace: w.ws, Event: &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: name, Occurred: timestamppb.New(noon.Add(time.Duration(seconds) * time.Second)),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}},
	}}
}

func (w *world) keys(key *orchv1.AssetFilterKey, limit int64) (keys []string, total int64) {
	w.Helper()
	page, err := w.service.ReadAssets(w.ctx, &orchv1.ReadAssetsRequest{
		Query: &orchv1.AssetQuery{Limit: limit, Filter: &orchv1.AssetFilter{Key: key}},
	})
	require.NoError(w, err)
	for _, asset := range page.GetAssets() {
		keys = append(keys, asset.GetKey())
	}
	return keys, page.GetTotal()
}

const materialized = "orch.asset.materialization.succeeded"

func TestAssetsAreKnownByTheirEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := []events.Received{
		w.event(materialized, "s3://bucket/a.csv", 2), w.event("orch.asset.referenced", "s3://bucket/a.csv", 1),
		w.event("orch.asset.materialization.failed", "postgres://db/b", 3), w.event("orch.flow-run.Completed", "orch.flow-run.x", 4),
		w.event("other.asset.referenced", "x", 4),
	}
	for range 2 { // Events are delivered at least once.
		require.NoError(t, w.service.Record(t.Context(), batch))
	}
	page, err := w.service.ReadAssets(w.ctx, &orchv1.ReadAssetsRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 2, page.GetTotal())
	require.Equal(t, "postgres://db/b", page.GetAssets()[0].GetKey())
	require.Equal(t, noon.Add(2*time.Second), page.GetAssets()[1].GetLastSeen().AsTime(), "the latest event counts, whatever their order")

	require.NoError(t, w.service.Record(t.Context(), []events.Received{w.event(materialized, "postgres://db/b", 9)}))
	page, err = w.service.ReadAssets(w.ctx, &orchv1.ReadAssetsRequest{})
	require.NoError(t, err)
	require.Equal(t, noon.Add(9*time.Second), page.GetAssets()[0].GetLastSeen().AsTime())

	elsewhere, err := w.service.ReadAssets(requesttest.Incoming(t, uuid.New()), &orchv1.ReadAssetsRequest{})
	require.NoError(t, err)
	require.Empty(t, elsewhere.GetAssets())
}

func TestFiltersOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := []string{"gs://b/one.csv", "s3://a/(two).csv", "s3://a/one.csv", "s3://b/one.csv"}
	for _, key := range all {
		require.NoError(t, w.service.Record(t.Context(), []events.Received{w.event(materialized, key, 1)}))
	}
	for name, c := range map[string]struct {
		key   *orchv1.AssetFilterKey
		limit int64
		want  []string
		total int64
	}{
		"all":                {nil, 200, all, 4},
		"limit":              {nil, 1, all[:1], 4},
		"prefix":             {&orchv1.AssetFilterKey{Prefix: []string{"s3://a/"}}, 200, all[1:3], 2},
		"one of prefixes":    {&orchv1.AssetFilterKey{Prefix: []string{"gs://", "s3://b"}}, 200, []string{all[0], all[3]}, 2},
		"search":             {&orchv1.AssetFilterKey{Search: []string{"ONE"}}, 200, []string{all[0], all[2], all[3]}, 3},
		"search is no regex": {&orchv1.AssetFilterKey{Search: []string{"(two)"}}, 200, all[1:2], 1},
		"both":               {&orchv1.AssetFilterKey{Prefix: []string{"s3://"}, Search: []string{"gs", "two"}}, 200, all[1:2], 1},
		"NUL":                {&orchv1.AssetFilterKey{Search: []string{"\x00"}}, 200, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			keys, total := w.keys(c.key, c.limit)
			require.Equal(t, c.want, keys, name)
			require.Equal(t, c.total, total, name)
		})
	}
	_, err := w.service.ReadAssets(w.ctx, &orchv1.ReadAssetsRequest{Query: &orchv1.AssetQuery{
		Filter: &orchv1.AssetFilter{Key: &orchv1.AssetFilterKey{Prefix: []string{strings.Repeat("x", maxText+1)}}},
	}})
	require.EqualValues(t, 422, rpc.HTTPError(err).GetStatus())
}

func TestADeletedAssetReturnsWithItsNextEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	remove := func() int32 {
		_, err := w.service.DeleteAsset(w.ctx, &orchv1.DeleteAssetRequest{Key: "s3://a"})
		return rpc.HTTPError(err).GetStatus()
	}
	require.EqualValues(t, 404, remove())
	require.NoError(t, w.service.Record(t.Context(), []events.Received{w.event(materialized, "s3://a", 1)}))
	_, err := w.service.DeleteAsset(requesttest.Incoming(t, uuid.New()), &orchv1.DeleteAssetRequest{Key: "s3://a"})
	require.EqualValues(t, 404, rpc.HTTPError(err).GetStatus())
	_, err = w.service.DeleteAsset(w.ctx, &orchv1.DeleteAssetRequest{Key: "s3://a"})
	require.NoError(t, err)
	keys, _ := w.keys(nil, 200)
	require.Empty(t, keys)
	require.EqualValues(t, 404, remove())
	require.NoError(t, w.service.Record(t.Context(), []events.Received{w.event(materialized, "s3://a", 2)}))
	keys, _ = w.keys(nil, 200)
	require.Equal(t, []string{"s3://a"}, keys)
}
