package restjson_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/restjson/restjsontest"
	_ "github.com/orch-project/orch/proto/gen/orch/test/v1"
)

// notInREST are messages between services only.
var notInREST = map[protoreflect.FullName]bool{"orch.v1.HttpError": true}

// contractMessages returns every message of the API and of the tests.
func contractMessages(t *testing.T) (all []protoreflect.MessageType) {
	t.Helper()
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		name := mt.Descriptor().FullName()
		if strings.HasPrefix(string(name), "orch.") && !mt.Descriptor().IsMapEntry() && !notInREST[name] {
			all = append(all, mt)
		}
		return true
	})
	require.NotEmpty(t, all)
	return all
}

// TestRoundTrip checks for every message that writing and reading returns the same message.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, mt := range contractMessages(t) {
		t.Run(string(mt.Descriptor().FullName()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := restjsontest.Draw(t, mt)
				text, err := restjson.Marshal(m)
				require.NoError(t, err)
				back := mt.New().Interface()
				require.NoError(t, restjson.Unmarshal(text, back), "%s", text)
				requireSame(t, m, back)
				again, err := restjson.Marshal(back)
				require.NoError(t, err)
				require.Equal(t, string(text), string(again))
				compact, err := restjson.Compact(text)
				require.NoError(t, err)
				require.Equal(t, string(text), string(compact), "JSON is written without whitespace")
			})
		})
	}
}

// TestGeneratedEqualsReflective checks that generated encoders write the bytes of the reflective one.
func TestGeneratedEqualsReflective(t *testing.T) {
	t.Parallel()
	for _, mt := range contractMessages(t) {
		t.Run(string(mt.Descriptor().FullName()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := restjsontest.Draw(t, mt, restjsontest.WithInternal())
				if rapid.Bool().Draw(t, "incomplete") {
					// Errors must be the same as well.
					drop(t, m.ProtoReflect())
				}
				want, wantErr := restjson.AppendReflect(nil, m)
				got, err := restjson.Append(nil, m)
				require.Equal(t, string(want), string(got))
				if wantErr != nil {
					require.EqualError(t, err, wantErr.Error())
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

// drop clears one field.
func drop(t *rapid.T, m protoreflect.Message) {
	fds := m.Descriptor().Fields()
	if fds.Len() > 0 {
		m.Clear(fds.Get(rapid.IntRange(0, fds.Len()-1).Draw(t, "dropped")))
	}
}

// TestInternalFieldsStayInside checks that internal fields do not change REST output, and that their keys in a request set
// nothing.
func TestInternalFieldsStayInside(t *testing.T) {
	t.Parallel()
	for _, mt := range contractMessages(t) {
		md := mt.Descriptor()
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if !restjson.Internal(fd) {
				continue
			}
			t.Run(string(fd.FullName()), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					m := restjsontest.Draw(t, mt, restjsontest.WithInternal())
					a, errA := restjson.Marshal(m)
					m.ProtoReflect().Clear(fd)
					b, errB := restjson.Marshal(m)
					require.NoError(t, errA)
					require.NoError(t, errB)
					require.Equal(t, string(b), string(a))
				})
			})
		}
	}
}

// TestDynamicMessages checks that a message without a generated Go type is mapped the same.
func TestDynamicMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range []protoreflect.FullName{"orch.v1.FlowRun", "orch.test.v1.Everything"} {
			mt, err := protoregistry.GlobalTypes.FindMessageByName(name)
			require.NoError(t, err)
			m := restjsontest.Draw(t, mt)
			want, err := restjson.Marshal(m)
			require.NoError(t, err)
			dynamic := dynamicpb.NewMessage(mt.Descriptor())
			wire, err := proto.Marshal(m)
			require.NoError(t, err)
			require.NoError(t, proto.Unmarshal(wire, dynamic))
			got, err := restjson.Marshal(dynamic)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
			back := dynamicpb.NewMessage(mt.Descriptor())
			require.NoError(t, restjson.Unmarshal(want, back))
		}
	})
}

// requireSame compares by proto.Equal, which takes a fraction of the time of a difference. It makes a difference only to report one.
func requireSame(t require.TestingT, want, got proto.Message) {
	if !proto.Equal(want, got) {
		require.Fail(t, "messages differ", cmp.Diff(want, got, protocmp.Transform()))
	}
}
