package pagination_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// TestPagesAreBoundedInBytes: a page beyond the bound is refused in every kind of list, and the error says which limit fits. Walks and
// deletions of all matches have no page that a client asked for, so they go on.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, clock.System{})
	ws := uuid.New()
	ctx := requesttest.Incoming(t, ws)
	collection := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	source := pagination.NewSource(collection, ascending)
	stored, size := 0, 0
	var refused error
	testkit.FillBound(t, "a page of other documents", pagination.MaxPageBytes, func() bool {
		require.NoError(t, collection.Insert(ctx, ws, &orchv1.Variable{
			Id: s.NewID().String(), Name: fmt.Sprintf("v%03d", stored), Value: []byte(`"` + strings.Repeat("v", 2<<20) + `"`),
		}))
		stored++
		var found []*orchv1.Variable
		found, refused = source.List(ctx, nil, nil, &orchv1.VariableQuery{})
		if refused == nil {
			size = 0
			for _, v := range found {
				size += len(v.GetValue())
			}
		}
		return refused != nil
	}, func() int { return size })

	requireRefused := func(err error) {
		t.Helper()
		require.Equal(t, int32(422), rpc.HTTPError(err).GetStatus(), "%v", err)
		require.ErrorContains(t, err, fmt.Sprintf("the page has more than 32 MiB, request smaller pages: the first %d documents fit", stored-1))
	}
	requireRefused(refused)
	_, err := pagination.Find(ctx, collection, ws, nil, bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, &orchv1.VariableQuery{}, &orchv1.VariableQuery{})
	requireRefused(err)
	_, err = source.Paginate(ctx, numbered{&orchv1.VariableQuery{}, 1}, nil)
	requireRefused(err)
	fitting, err := source.List(ctx, nil, nil, &orchv1.VariableQuery{Limit: limit(int64(stored) - 1)})
	require.NoError(t, err)
	require.Len(t, fitting, stored-1)

	var walked []*orchv1.Variable
	require.NoError(t, source.Walk(ctx, nil, nil, 100, func(v *orchv1.Variable) bool {
		walked = append(walked, v)
		return true
	}))
	require.Len(t, names(walked), stored)
	require.NoError(t, source.Each(ctx, nil, 200, func(ws, id uuid.UUID) error {
		return collection.Delete(ctx, ws, id, func(*orchv1.Variable) ([]store.Effect, error) { return nil, nil })
	}))
	left, err := source.List(ctx, nil, nil, &orchv1.VariableQuery{})
	require.NoError(t, err)
	require.Empty(t, left)
}
