package query

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const someID = "01010101-0101-0101-0101-010101010101"

// id is someID in extended JSON.
const id = `{"$binary":{"base64":"AQEBAQEBAQEBAQEBAQEBAQ==","subType":"04"}}`

func TestCompile(t *testing.T) {
	t.Parallel()
	flow := func() proto.Message { return &orchv1.FlowFilter{} }
	run := func() proto.Message { return &orchv1.FlowRunFilter{} }
	task := func() proto.Message { return &orchv1.TaskRunFilter{} }
	deployment := func() proto.Message { return &orchv1.DeploymentFilter{} }
	queue := func() proto.Message { return &orchv1.WorkQueueFilter{} }
	webhook := func() proto.Message { return &orchv1.WebhookFilter{} }
	for _, c := range []struct {
		name          string
		filterMessage func() proto.Message
		filter        string
		want          string
	}{
		{"nothing", run, `{}`, `{}`},
		{"nothing, by or", run, `{"operator": "or_"}`, `{}`},
		{"null is absent", run, `{"name": null, "tags": {"all_": null}}`, `{}`},
		{"an empty criterion of an or holds always", run, `{"operator": "or_", "name": {}, "id": {"any_": []}}`, `{}`},
		{"any_ of ids", run, `{"id": {"any_": ["` + someID + `"]}}`, `{"_id":{"$in":[` + id + `]}}`},
		{"any_ of nothing", run, `{"id": {"any_": []}}`, `{"_id":{"$in":[]}}`},
		{
			"not_any_ leaves out absent ones", run, `{"idempotency_key": {"not_any_": ["a"]}}`,
			`{"idempotency_key":{"$nin":["a",null]}}`,
		},
		{"not_any_ of nothing", run, `{"idempotency_key": {"not_any_": []}}`, `{}`},
		{
			"nested, enum words", run, `{"state": {"type": {"any_": ["RUNNING", "PAUSED"]}, "name": {"not_any_": ["Late"]}}}`,
			`{"state.type":{"$in":["RUNNING","PAUSED"]},"state.name":{"$nin":["Late",null]}}`,
		},
		{"an empty criterion of a state, by or", run, `{"state": {"operator": "or_", "type": {}, "name": {"any_": ["Late"]}}}`, `{"state.name":{"$in":["Late"]}}`},
		{
			"nested, by or", run, `{"state": {"operator": "or_", "type": {"any_": ["FAILED"]}, "name": {"any_": ["Late"]}}, "flow_version": {"any_": ["1"]}}`,
			`{"$or":[{"state.type":{"$in":["FAILED"]}},{"state.name":{"$in":["Late"]}}],"flow_version":{"$in":["1"]}}`,
		},
		{"one criterion of an or", run, `{"operator": "or_", "flow_version": {"any_": ["1"]}}`, `{"flow_version":{"$in":["1"]}}`},
		{
			"leaf by or", run, `{"deployment_id": {"operator": "or_", "any_": ["` + someID + `"], "is_null_": true}}`,
			`{"$or":[{"deployment_id":{"$in":[` + id + `]}},{"deployment_id":{"$eq":null}}]}`,
		},
		{"is_null_ false", run, `{"deployment_id": {"is_null_": false}}`, `{"deployment_id":{"$ne":null}}`},
		{
			"times in microseconds, inclusive", run,
			`{"start_time": {"after_": "1970-01-01T00:00:01Z", "before_": "1970-01-01T00:00:02.000003Z", "is_null_": false}}`,
			`{"sort_start":{"$lte":{"$numberLong":"2000003"},"$gte":{"$numberLong":"1000000"}},"start_time":{"$ne":null}}`,
		},
		{"all_", run, `{"tags": {"all_": ["a", "b"]}}`, `{"tags":{"$all":["a","b"]}}`},
		{"all_ of nothing", run, `{"tags": {"all_": []}}`, `{}`},
		{"any_ of a list", run, `{"tags": {"any_": ["a"]}}`, `{"tags":{"$in":["a"]}}`},
		{"is_null_ of a list", run, `{"tags": {"is_null_": true}}`, `{"tags":{"$in":[null,[]]}}`},
		{"is_null_ false of a list", run, `{"tags": {"is_null_": false}}`, `{"tags":{"$nin":[null,[]]}}`},
		{
			"like_ means every character", flow, `{"name": {"like_": "a.b_*$\\"}}`,
			`{"name":{"$regex":"a\\.b_\\*\\$\\\\","$options":"i"}}`,
		},
		{"like_ with %", flow, `{"name": {"like_": "%a%%b.%"}}`, `{"name":{"$regex":"a[\\s\\S]*b\\.","$options":"i"}}`},
		{"like_ with % alone", flow, `{"name": {"like_": "%"}}`, `{"name":{"$regex":"","$options":"i"}}`},
		{"like_ with NUL", flow, `{"name": {"like_": "a\u0000"}}`, `{"name":{"$regex":"a\\x00","$options":"i"}}`},
		{
			"startswith_", queue, `{"name": {"startswith_": ["a+", "b"]}}`,
			`{"$or":[{"name":{"$regex":"^a\\+","$options":"i"}},{"name":{"$regex":"^b","$options":"i"}}]}`,
		},
		{"startswith_ of nothing", queue, `{"name": {"startswith_": []}}`, `{"name":{"$in":[]}}`},
		{"eq_", webhook, `{"enabled": {"eq_": false}}`, `{"enabled":{"$eq":false}}`},
		{
			"created_by", run, `{"created_by": {"id_": ["` + someID + `"], "type_": ["SCHEDULE"], "is_null_": false}}`,
			`{"created_by.id":{"$in":[` + id + `]},"created_by.type":{"$in":["SCHEDULE"]},"created_by":{"$exists":true}}`,
		},
		{
			"created_by by or", run, `{"created_by": {"operator": "or_", "type_": [], "is_null_": true}}`,
			`{"$or":[{"created_by.type":{"$in":[]},"created_by":{"$exists":true}},{"created_by":{"$exists":false}}]}`,
		},
		{"flow_run_id: default is_null_", task, `{"flow_run_id": {}}`, `{"flow_run_id":{"$ne":null}}`},
		{
			"flow_run_id: any_ with the default", task, `{"flow_run_id": {"operator": "or_", "any_": ["` + someID + `"]}}`,
			`{"flow_run_id":{"$in":[` + id + `]}}`,
		},
		{
			"flow_run_id: is_null_ outweighs", task, `{"flow_run_id": {"any_": ["` + someID + `"], "is_null_": true}}`,
			`{"flow_run_id":{"$eq":null}}`,
		},
		{"flow_run_id: null", task, `{"flow_run_id": {"is_null_": null}}`, `{}`},
		{"concurrency_limit matches all", deployment, `{"concurrency_limit": {"ge_": 5}, "paused": {"eq_": true}}`, `{"paused":{"$eq":true}}`},
		{"absent criteria on other collections", flow, `{"deployment": {"is_null_": null}}`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := Compile(parse(t, c.filterMessage(), c.filter))
			require.NoError(t, err)
			d, err := f.BSON()
			require.NoError(t, err)
			require.Equal(t, c.want, canonical(t, d))
		})
	}
}

func TestCompileNil(t *testing.T) {
	t.Parallel()
	for _, m := range []proto.Message{nil, (*orchv1.FlowFilter)(nil)} {
		f, err := Compile(m)
		require.NoError(t, err)
		d, err := f.BSON()
		require.NoError(t, err)
		require.Empty(t, d)
	}
	d, err := Filter{}.BSON()
	require.NoError(t, err)
	require.Equal(t, bson.D{}, d)
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	_, err := Compile(&orchv1.FlowFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{"x"}}}})
	require.ErrorIs(t, err, ErrOperand)
	require.ErrorContains(t, err, "id: any_")
	_, err = Compile(&orchv1.FlowFilter{Name: &orchv1.NameFilter{Like_: proto.String(strings.Repeat("a", MaxPattern+1))}})
	require.ErrorIs(t, err, ErrOperand)
	_, err = Compile(&orchv1.Flow{Name: "no filter"})
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = Compile(&orchv1.NameFilter{Like_: proto.String("a leaf alone")})
	require.ErrorIs(t, err, ErrUnsupported)

	f, err := Compile(parse(t, &orchv1.FlowFilter{}, `{"deployment": {"is_null_": true}}`))
	require.NoError(t, err)
	_, err = f.BSON()
	require.ErrorIs(t, err, ErrRelated)
	_, err = NewPlan(Webhook, &orchv1.FlowQuery{Flows: &orchv1.FlowFilter{}})
	require.ErrorIs(t, err, ErrUnsupported)
	p, err := NewPlan(Flow, &emptypb.Empty{})
	require.NoError(t, err)
	require.Equal(t, matchAll{}, p.root)
}

// TestEveryFilterCompiles sets every field of every filter message of the contract. It fails for a new field that the
// compiler does not support.
func TestEveryFilterCompiles(t *testing.T) {
	t.Parallel()
	n := 0
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		md := mt.Descriptor()
		name := string(md.Name())
		if md.ParentFile().Package() != "orch.v1" || !strings.HasSuffix(name, "Filter") || name == "EventFilter" ||
			md.Fields().ByName(operatorField) == nil || hasLeaf(md) {
			return true
		}
		n++
		m := mt.New()
		fill(m)
		_, err := Compile(m.Interface())
		require.NoError(t, err, name)
		return true
	})
	require.NotZero(t, n)
}

func hasLeaf(md protoreflect.MessageDescriptor) bool {
	for i := range md.Fields().Len() {
		if strings.HasSuffix(string(md.Fields().Get(i).Name()), "_") {
			return true
		}
	}
	return false
}

func fill(m protoreflect.Message) {
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		if fd := fds.Get(i); fd.Message() != nil && !fd.IsList() {
			fill(m.Mutable(fd).Message())
		} else if !fd.IsList() && fd.HasOptionalKeyword() {
			m.Set(fd, fd.Default())
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	got := Scope(uuid.MustParse(someID), bson.D{{Key: "name", Value: "x"}})
	require.Equal(t, `{"ws":`+id+`,"name":"x"}`, canonical(t, got))
}
