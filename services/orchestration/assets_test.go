package orchestration_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestAssetsAreMadeOfTheEventsOfClients(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const key = "s3://bucket/a.csv"
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: []*orchv1.Event{{
		Id: uuid.NewString(), Event: "orch.asset.materialization.succeeded", Occurred: timestamppb.Now(),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": key}},
	}}})
	assets := func() []*orchv1.Asset {
		return call[*orchv1.AssetPage](d, orchv1.AssetService_ReadAssets_FullMethodName, &orchv1.ReadAssetsRequest{}).GetAssets()
	}
	eventually(t, func() bool { return len(assets()) == 1 }, "the asset is recorded")
	require.Equal(t, key, assets()[0].GetKey())
	call[*emptypb.Empty](d, orchv1.AssetService_DeleteAsset_FullMethodName, &orchv1.DeleteAssetRequest{Key: key})
	require.Empty(t, assets())
}
