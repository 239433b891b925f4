package orchestration_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

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

func TestDefaultResultStorageIsSetAndCleared(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	read := func() *orchv1.ServerDefaultResultStorage {
		return call[*orchv1.ServerDefaultResultStorage](d, orchv1.AdminService_ReadServerDefaultResultStorage_FullMethodName, &emptypb.Empty{})
	}
	require.Nil(t, read().DefaultResultStorageBlockId)
	_, err := tryIgnored(d, orchv1.AdminService_ClearServerDefaultResultStorage_FullMethodName, &emptypb.Empty{})
	require.NoError(t, err)
	for range 2 {
		block := uuid.NewString()
		set := call[*orchv1.ServerDefaultResultStorage](d, orchv1.AdminService_UpdateServerDefaultResultStorage_FullMethodName,
			&orchv1.UpdateServerDefaultResultStorageRequest{Storage: &orchv1.ServerDefaultResultStorageUpdate{DefaultResultStorageBlockId: block}})
		require.Equal(t, block, set.GetDefaultResultStorageBlockId())
		require.Equal(t, block, read().GetDefaultResultStorageBlockId())
	}
	_, err = tryIgnored(d, orchv1.AdminService_ClearServerDefaultResultStorage_FullMethodName, &emptypb.Empty{})
	require.NoError(t, err)
	require.Nil(t, read().DefaultResultStorageBlockId)
}
