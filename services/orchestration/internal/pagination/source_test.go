package pagination_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// variables is a collection with the variables v0 … v4 in the workspace, and one in another workspace.
func variables(t *testing.T, ws uuid.UUID) *store.Collection[*orchv1.Variable] {
	t.Helper()
	s := storetest.Embedded(t, clock.System{})
	collection := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	for n := range 5 {
		require.NoError(t, collection.Insert(t.Context(), ws, &orchv1.Variable{Id: s.NewID().String(), Name: fmt.Sprintf("v%d", n)}))
	}
	require.NoError(t, collection.Insert(t.Context(), uuid.New(), &orchv1.Variable{Id: s.NewID().String(), Name: "v9"}))
	return collection
}

func names(found []*orchv1.Variable) []string {
	list := []string{}
	for _, v := range found {
		list = append(list, v.GetName())
	}
	return list
}

func limit(n int64) *orchv1.PageLimit { return &orchv1.PageLimit{Value: n} }

const (
	ascending  = orchv1.VariableSort_VARIABLE_SORT_NAME_ASC
	descending = orchv1.VariableSort_VARIABLE_SORT_NAME_DESC
	unasked    = orchv1.VariableSort_VARIABLE_SORT_UNSPECIFIED
)

// named selects variables by name.
func named(names ...string) *orchv1.VariableQuery {
	return &orchv1.VariableQuery{Variables: &orchv1.VariableFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: names}}}}
}

func TestSourceReads(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	source := pagination.NewSource(variables(t, ws), ascending)
	ctx := requesttest.Incoming(t, ws)
	for name, c := range map[string]struct {
		q      *orchv1.VariableQuery
		order  protoreflect.Enum
		offset int64
		limit  *orchv1.PageLimit
		want   []string
	}{
		"all, by the source's order":  {want: []string{"v0", "v1", "v2", "v3", "v4"}},
		"an order that is none":       {order: unasked, limit: limit(1), want: []string{"v0"}},
		"an order that was asked for": {order: descending, limit: limit(2), want: []string{"v4", "v3"}},
		"from an offset":              {offset: 3, want: []string{"v3", "v4"}},
		"an offset beyond the end":    {offset: 5, want: []string{}},
		"a page of nothing":           {limit: limit(0), want: []string{}},
		"what matches":                {q: named("v1", "v3", "v9"), want: []string{"v1", "v3"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := source.List(ctx, c.q, c.order, &orchv1.ListVariablesRequest{Offset: c.offset, Limit: c.limit})
			require.NoError(t, err, name)
			require.Equal(t, c.want, names(found), name)
		})
	}
	count, err := source.Count(ctx, named("v1", "v9"))
	require.NoError(t, err)
	require.Equal(t, int64(1), count.GetCount())

	_, err = source.List(ctx, nil, nil, &orchv1.ListVariablesRequest{Limit: limit(201)})
	require.Equal(t, int32(422), rpc.HTTPError(err).GetStatus())
	_, err = source.List(t.Context(), nil, nil, &orchv1.ListVariablesRequest{})
	require.ErrorIs(t, err, request.ErrNoWorkspace)
}

// numbered is a numbered page of variables; VariableQuery has no number.
type numbered struct {
	*orchv1.VariableQuery
	number int64
}

func (n numbered) GetPage() int64 { return n.number }

func TestPaginate(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	source := pagination.NewSource(variables(t, ws), ascending)
	ctx := requesttest.Incoming(t, ws)
	page := func(number, size int64) numbered { return numbered{&orchv1.VariableQuery{Limit: limit(size)}, number} }
	for number, want := range map[int64][]string{
		-1: {"v0", "v1"}, 0: {"v0", "v1"}, 1: {"v0", "v1"}, 2: {"v2", "v3"}, 3: {"v4"}, 4: {}, 1 << 62: {},
	} {
		p, err := source.Paginate(ctx, page(number, 2), nil)
		require.NoError(t, err, number)
		require.Equal(t, want, names(p.Results), number)
		p.Results = nil
		require.Equal(t, pagination.Numbered[*orchv1.Variable]{Count: 5, Limit: 2, Pages: 3, Page: max(number, 1)}, p)
	}
	p, err := source.Paginate(ctx, page(1, 0), nil)
	require.NoError(t, err)
	require.Equal(t, pagination.Numbered[*orchv1.Variable]{Count: 5, Page: 1}, p)
	_, err = source.Paginate(ctx, page(1, -1), nil)
	require.Equal(t, int32(422), rpc.HTTPError(err).GetStatus())
}

func TestEach(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	collection := variables(t, ws)
	source := pagination.NewSource(collection, ascending)
	ctx := requesttest.Incoming(t, ws)
	var visited []string
	walk := func(q *orchv1.VariableQuery, limit int64, answer error) error {
		visited = nil
		return source.Each(ctx, q, limit, func(in, id uuid.UUID) error {
			require.Equal(t, ws, in)
			v, err := collection.Get(ctx, in, id)
			require.NoError(t, err)
			visited = append(visited, v.GetName())
			return answer
		})
	}
	require.NoError(t, walk(nil, 2, nil))
	require.Equal(t, []string{"v0", "v1"}, visited)
	require.NoError(t, walk(nil, 0, nil))
	require.Empty(t, visited)
	require.NoError(t, walk(named("v2", "v4"), 10, fmt.Errorf("delete: %w", store.ErrNotFound)), "a deleted one is skipped")
	require.Equal(t, []string{"v2", "v4"}, visited)
	failure := errors.New("no")
	require.ErrorIs(t, walk(nil, 10, failure), failure)
	require.Equal(t, []string{"v0"}, visited)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, ascending, pagination.Order(nil, ascending))
	require.Equal(t, ascending, pagination.Order(unasked, ascending))
	require.Equal(t, descending, pagination.Order(descending, ascending))
}
