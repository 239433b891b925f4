package pagination_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// searched returns the results of all calls of a search, and the number of documents that each call read.
func searched(
	t *testing.T, source pagination.Source[*orchv1.Variable], ws uuid.UUID, size int64, matches func(*orchv1.Variable) bool,
) (found []string, reads []int64) {
	t.Helper()
	ctx, q, token := requesttest.Incoming(t, ws), &orchv1.VariableQuery{}, ""
	for {
		result, err := source.Search(ctx, q, ascending, q, token, size, matches)
		require.NoError(t, err)
		require.LessOrEqual(t, int64(len(result.Results)), size)
		found, reads = append(found, names(result.Results)...), append(reads, result.Searched)
		if token = result.Next; token == "" {
			require.Nil(t, result.Last)
			return found, reads
		}
		require.NotNil(t, result.Last)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	source := pagination.NewSource(variables(t, ws), ascending)
	odd := func(v *orchv1.Variable) bool { return v.GetName() == "v1" || v.GetName() == "v3" }
	for name, c := range map[string]struct {
		size    int64
		matches func(*orchv1.Variable) bool
		found   []string
		reads   []int64
	}{
		"all fit":                   {10, odd, []string{"v1", "v3"}, []int64{5}},
		"a call ends at its size":   {1, odd, []string{"v1", "v3"}, []int64{2, 2, 1}},
		"the last document matches": {5, func(*orchv1.Variable) bool { return true }, []string{"v0", "v1", "v2", "v3", "v4"}, []int64{5}},
		"nothing matches":           {1, func(*orchv1.Variable) bool { return false }, nil, []int64{5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, reads := searched(t, source, ws, c.size, c.matches)
			require.Equal(t, c.found, found)
			require.Equal(t, c.reads, reads)
		})
	}
}

// TestSearchReadsABoundedPart: a call that finds nothing ends at its bound, and the next one goes on behind it.
func TestSearchReadsABoundedPart(t *testing.T) {
	t.Parallel()
	ws, s := uuid.New(), storetest.Embedded(t, clock.System{})
	collection := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	source := pagination.NewSource(collection, ascending)
	const size = 15 << 20
	value := []byte(`"` + strings.Repeat("a", size) + `"`)
	var documents, read int
	none := func(*orchv1.Variable) bool { return false }
	testkit.FillBound(t, "documents that one call of a search reads", pagination.MaxSearchedBytes, func() bool {
		require.NoError(t, collection.Insert(t.Context(), ws, &orchv1.Variable{Id: s.NewID().String(), Name: fmt.Sprintf("v%02d", documents), Value: value}))
		documents++
		q := &orchv1.VariableQuery{}
		result, err := source.Search(requesttest.Incoming(t, ws), q, ascending, q, "", 10, none)
		require.NoError(t, err)
		read = int(result.Searched) * size
		return result.Next != ""
	}, func() int { return read })
	last := func(v *orchv1.Variable) bool { return v.GetName() == fmt.Sprintf("v%02d", documents-1) }
	found, reads := searched(t, source, ws, 10, last)
	require.Len(t, found, 1)
	require.Equal(t, []int64{int64(documents) - 1, 1}, reads)
}

func TestSearchRefusesATokenOfAnotherSearch(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	source := pagination.NewSource(variables(t, ws), ascending)
	ctx, q := requesttest.Incoming(t, ws), &orchv1.VariableQuery{}
	all := func(*orchv1.Variable) bool { return true }
	result, err := source.Search(ctx, q, ascending, q, "", 2, all)
	require.NoError(t, err)
	_, err = source.Search(ctx, named("v1"), ascending, named("v1"), result.Next, 2, all)
	require.ErrorContains(t, err, "another filter")
}
