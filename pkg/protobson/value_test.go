package protobson

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestSet(t *testing.T) {
	t.Parallel()
	set, unset, err := AppendSet(nil, &orchv1.Webhook{Name: "n", Description: ""},
		[]string{"name", "description", "service_account_id", "template", "name"})
	require.NoError(t, err)
	require.Equal(t, []string{"service_account_id"}, unset)
	require.JSONEq(t, `{"name": "n", "description": "", "template": ""}`, bson.Raw(bsoncore.BuildDocument(nil, set)).String())

	_, unset, err = AppendSet(nil, &orchv1.FlowUpdate{}, []string{"tags"})
	require.NoError(t, err)
	require.Equal(t, []string{"tags"}, unset)

	for _, mask := range []string{"nothing", "id", "url", "state.name", ""} {
		_, _, err = AppendSet(nil, &orchv1.Webhook{}, []string{mask})
		require.ErrorIs(t, err, ErrMask, mask)
	}
	_, _, err = AppendSet(nil, &orchv1.Webhook{ServiceAccountId: proto.String("no UUID")}, []string{"service_account_id"})
	require.ErrorIs(t, err, ErrValue)
}

func TestValue(t *testing.T) {
	t.Parallel()
	m := &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{someID}}}
	fd := m.ProtoReflect().Descriptor().Fields().ByName("any_")
	v, err := Value(fd, m.ProtoReflect().Get(fd))
	require.NoError(t, err)
	require.Equal(t, bson.TypeArray, v.Type)
	var items []bson.Binary
	require.NoError(t, v.Unmarshal(&items))
	require.Equal(t, []bson.Binary{uuid(someID)}, items)

	invalid := &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{"$ne"}}}
	_, err = Value(fd, invalid.ProtoReflect().Get(fd))
	require.ErrorIs(t, err, ErrValue)

	url := (&orchv1.Webhook{}).ProtoReflect().Descriptor().Fields().ByName("url")
	_, err = Value(url, protoreflect.ValueOfString("x"))
	require.Error(t, err)
	_, stored := Key(url)
	require.False(t, stored)
	key, stored := Key(fd)
	require.True(t, stored)
	require.Equal(t, "any_", key)
}
