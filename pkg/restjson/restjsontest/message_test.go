package restjsontest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/restjson/restjsontest"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestOptionsChooseTheFields: a message for REST has computed fields, and a message for the store has internal ones.
func TestOptionsChooseTheFields(t *testing.T) {
	t.Parallel()
	internal, computed := false, false
	rapid.Check(t, func(t *rapid.T) {
		rest := restjsontest.Messages[*orchv1.FlowRun]().Draw(t, "rest")
		stored := restjsontest.Messages[*orchv1.FlowRun](restjsontest.WithInternal(), restjsontest.WithoutComputed()).Draw(t, "stored")
		rest.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			require.False(t, restjson.Internal(fd), fd.Name())
			computed = computed || restjson.Computed(fd)
			return true
		})
		stored.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			require.False(t, restjson.Computed(fd), fd.Name())
			internal = internal || restjson.Internal(fd)
			return true
		})
	})
	require.True(t, computed, "some message has a computed field")
	require.True(t, internal, "some message has an internal field")
}

// TestJSONIsValid: free JSON has no white space, and an object is one.
func TestJSONIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := restjsontest.JSONObject().Draw(t, "object")
		require.True(t, jsontoken.Valid([]byte(object)), object)
		require.Equal(t, byte('{'), object[0])
		require.True(t, jsontoken.Valid([]byte(restjsontest.JSON().Draw(t, "value"))))
	})
}
