package query

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/restjson/restjsontest"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// operators are all operators that a compiled filter may use.
var operators = map[string]bool{
	"$and": true, "$or": true, "$in": true, "$nin": true, "$all": true, "$eq": true, "$ne": true, "$gte": true, "$lt": true,
	"$lte": true, "$exists": true, "$regex": true, "$options": true, "$not": true, "$elemMatch": true,
}

// marker is in every text of the hostile requests, so no key of a filter may contain it.
const marker = "☠"

var hostile = []string{
	"$where", "$ne", "$gt", "$regex", "$or", "ws", "deleted_at", "_id", "a.b", "$", ".", "\x00", "(?i).*", "[", "(a+)+$", "\\", "'", "{\"$ne\":1}",
}

// poison replaces every text of m that is not a UUID, keys of maps included.
func poison(t *rapid.T, m protoreflect.Message) {
	text := func() string {
		bad := rapid.SampledFrom(hostile).Draw(t, "hostile")
		if rapid.Bool().Draw(t, "first") {
			return marker + bad
		}
		return bad + marker
	}
	plainText := func(fd protoreflect.FieldDescriptor) bool {
		return fd.Kind() == protoreflect.StringKind && restjson.Options(fd).GetFormat() != orchv1.Format_FORMAT_UUID
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			fresh := m.NewField(fd).Map()
			v.Map().Range(func(_ protoreflect.MapKey, item protoreflect.Value) bool {
				if fd.MapValue().Message() != nil {
					poison(t, item.Message())
				}
				fresh.Set(protoreflect.ValueOfString(text()).MapKey(), item)
				return true
			})
			m.Set(fd, protoreflect.ValueOfMap(fresh))
		case fd.IsList():
			for i := range v.List().Len() {
				if fd.Message() != nil {
					poison(t, v.List().Get(i).Message())
				} else if plainText(fd) {
					v.List().Set(i, protoreflect.ValueOfString(text()))
				}
			}
		case fd.Message() != nil:
			poison(t, v.Message())
		case plainText(fd):
			m.Set(fd, protoreflect.ValueOfString(text()))
		}
		return true
	})
}

// requireTame fails when a key of a filter is neither a permitted operator nor a path.
func requireTame(t require.TestingT, d bson.D) {
	raw, err := bson.Marshal(d)
	require.NoError(t, err)
	tame(t, raw)
}

func tame(t require.TestingT, raw bson.Raw) {
	list, err := raw.Elements()
	require.NoError(t, err)
	for _, e := range list {
		key := e.Key()
		require.NotContains(t, key, marker)
		require.True(t, !strings.HasPrefix(key, "$") || operators[key], key)
		require.NotEqual(t, workspaceKey, key, "the scope is not the request's")
		switch v := e.Value(); v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			tame(t, bson.Raw(v.Value))
		case bson.TypeRegex, bson.TypeJavaScript, bson.TypeCodeWithScope:
			require.Fail(t, "no operand is code", key)
		}
	}
}

// TestNoRequestValueBecomesAnOperator compiles random filters full of operators, patterns and paths.
func TestNoRequestValueBecomesAnOperator(t *testing.T) {
	t.Parallel()
	now := EventOptions{Now: time.Unix(0, 0), Vocabulary: vocabulary.Prefect}
	for _, m := range []proto.Message{
		&orchv1.FlowFilter{}, &orchv1.FlowRunFilter{}, &orchv1.TaskRunFilter{}, &orchv1.DeploymentFilter{},
		&orchv1.WorkPoolFilter{}, &orchv1.WorkQueueFilter{}, &orchv1.WebhookFilter{}, &orchv1.EventFilter{},
	} {
		t.Run(string(m.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := restjsontest.Draw(t, m.ProtoReflect().Type())
				poison(t, m.ProtoReflect())
				if f, ok := m.(*orchv1.EventFilter); ok {
					d, err := CompileEvents(f, now)
					require.NoError(t, err)
					requireTame(t, d)
					return
				}
				f, err := Compile(m)
				require.NoError(t, err)
				requireTameNode(t, f.root)
			})
		})
	}
}

// requireTameNode checks criteria on other collections too.
func requireTameNode(t require.TestingT, n node) {
	switch n := n.(type) {
	case exists:
		requireTameNode(t, n.in)
	case join:
		for _, k := range n.kids {
			requireTameNode(t, k)
		}
	default:
		d, err := toBSON(n)
		require.NoError(t, err)
		requireTame(t, d)
	}
}
