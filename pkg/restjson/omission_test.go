package restjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestOmission(t *testing.T) {
	t.Parallel()
	omit := restjson.Omission{"orch.v1.WorkPoolStorageConfiguration.default_result_storage_block_id", "orch.v1.WorkPoolStorageConfiguration.bundle_upload_step"}
	configuration := &orchv1.WorkPoolStorageConfiguration{DefaultResultStorageBlockId: new(someID)}
	got, err := omit.Append(nil, configuration)
	require.NoError(t, err)
	require.Equal(t, `{"bundle_execution_step":null}`, string(got))

	pools := &orchv1.WorkPoolList{WorkPools: []*orchv1.WorkPool{{Id: someID, StorageConfiguration: configuration}}}
	whole, err := restjson.Marshal(pools)
	require.NoError(t, err)
	require.Contains(t, string(whole), someID+`"},"active_slots"`)
	got, err = omit.AppendField(nil, pools.ProtoReflect(), pools.ProtoReflect().Descriptor().Fields().ByName("work_pools"))
	require.NoError(t, err)
	require.Contains(t, string(got), `"storage_configuration":{"bundle_execution_step":null},"active_slots"`)

	require.True(t, omit.Reaches(pools.ProtoReflect().Descriptor()))
	require.False(t, omit.Reaches((&orchv1.Flow{}).ProtoReflect().Descriptor()))
	require.False(t, restjson.Omission(nil).Reaches(pools.ProtoReflect().Descriptor()))
}

// Generated encoders write every field, so an omission must not use them.
func TestOmissionWithinGeneratedEncoders(t *testing.T) {
	t.Parallel()
	flow := &orchv1.Flow{Id: someID, Name: "kept"}
	whole, err := restjson.Marshal(flow)
	require.NoError(t, err)
	require.Contains(t, string(whole), `"name":"kept"`)
	got, err := restjson.Omission{"orch.v1.Flow.name"}.Append(nil, flow)
	require.NoError(t, err)
	require.NotContains(t, string(got), "kept")
}
