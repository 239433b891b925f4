package orchestration_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestSavedSearchIsSavedUnderItsName(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	save := func(name, value string) (*orchv1.SavedSearch, rpc.Reply) {
		search, reply, err := try[*orchv1.SavedSearch](d, orchv1.SavedSearchService_CreateSavedSearch_FullMethodName,
			&orchv1.CreateSavedSearchRequest{SavedSearch: &orchv1.SavedSearchCreate{Name: name, Filters: []*orchv1.SavedSearchFilter{
				{Object: "flow_run", Property: "name", Type: "string", Operation: "equals", Value: []byte(value)},
			}}})
		require.NoError(t, err)
		return search, reply
	}
	first, reply := save("b", "1")
	require.Equal(t, http.StatusCreated, reply.Status)
	again, reply := save("b", `{"x": null}`)
	require.NotEqual(t, http.StatusCreated, reply.Status)
	require.Equal(t, first.GetId(), again.GetId())
	save("a", "2")

	list := call[*orchv1.SavedSearchList](d, orchv1.SavedSearchService_ReadSavedSearches_FullMethodName, &orchv1.ReadSavedSearchesRequest{}).GetSavedSearches()
	require.Len(t, list, 2)
	require.Equal(t, "a", list[0].GetName())
	require.JSONEq(t, `{"x": null}`, string(list[1].GetFilters()[0].GetValue()))

	_, err := tryIgnored(d, orchv1.SavedSearchService_DeleteSavedSearch_FullMethodName, &orchv1.DeleteSavedSearchRequest{Id: first.GetId()})
	require.NoError(t, err)
	_, _, err = try[*orchv1.SavedSearch](d, orchv1.SavedSearchService_ReadSavedSearch_FullMethodName, &orchv1.ReadSavedSearchRequest{Id: first.GetId()})
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code)
	_, reply = save("b", "3")
	require.Equal(t, http.StatusCreated, reply.Status)
}
