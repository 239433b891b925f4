package query

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query/criteria"
)

// listed are the collections that the API lists by a filter and a sort. Every such list fixes within besides the
// workspace.
var listed = []struct {
	in     Collection
	filter proto.Message
	sort   protoreflect.Enum // nil: the lists have a fixed order; serviceQueries covers it.
	within bson.D
}{
	{in: Flow, filter: &orchv1.FlowFilter{}, sort: orchv1.FlowSort(0)},
	{in: FlowRun, filter: &orchv1.FlowRunFilter{}, sort: orchv1.FlowRunSort(0)},
	{in: TaskRun, filter: &orchv1.TaskRunFilter{}, sort: orchv1.TaskRunSort(0)},
	{in: Deployment, filter: &orchv1.DeploymentFilter{}, sort: orchv1.DeploymentSort(0)},
	{in: WorkPool, filter: &orchv1.WorkPoolFilter{}},
	{in: WorkQueue, filter: &orchv1.WorkQueueFilter{}},
	{in: Log, filter: &orchv1.LogFilter{}, sort: orchv1.LogSort(0)},
	{in: Artifact, filter: &orchv1.ArtifactFilter{}, sort: orchv1.ArtifactSort(0)},
	{in: ArtifactLatest, filter: &orchv1.ArtifactCollectionFilter{}, sort: orchv1.ArtifactCollectionSort(0)},
	{in: Variable, filter: &orchv1.VariableFilter{}, sort: orchv1.VariableSort(0)},
	{in: Automation, filter: &orchv1.AutomationFilter{}, sort: orchv1.AutomationSort(0)},
	{in: BlockType, filter: &orchv1.BlockTypeFilter{}},
	{in: BlockSchema, filter: &orchv1.BlockSchemaFilter{}},
	{in: BlockDocument, filter: &orchv1.BlockDocumentFilter{}, sort: orchv1.BlockDocumentSort(0)},
	{in: Webhook, filter: &orchv1.WebhookFilter{}, sort: orchv1.WebhookSort(0)},
	{
		in: WebhookDelivery, filter: &orchv1.WebhookDeliveryFilter{}, sort: orchv1.WebhookDeliverySort(0),
		within: bson.D{{Key: "webhook_id", Value: binary(numbered(1))}},
	},
	{in: EventType, filter: &orchv1.EventTypeFilter{}, sort: orchv1.EventTypeSort(0)},
	{in: Destination, filter: &orchv1.DestinationFilter{}, sort: orchv1.DestinationSort(0)},
	{
		in: DestinationDelivery, filter: &orchv1.DestinationDeliveryFilter{}, sort: orchv1.DestinationDeliverySort(0),
		within: bson.D{{Key: "destination_id", Value: binary(numbered(1))}},
	},
}

// pageSize is the usual limit of a list.
const pageSize = 200

// everyQuery returns the queries of the contract, of relations and of services.
func everyQuery(t *testing.T, ws uuid.UUID) []labelledQuery {
	t.Helper()
	known := map[Collection]bool{}
	for _, c := range Collections() {
		known[c] = true
	}
	var all []labelledQuery
	for _, l := range listed {
		if !known[l.in] {
			continue // It has no indexes yet, and so no documents.
		}
		within := Scope(ws, l.within)
		var orders []ordered
		if l.sort != nil {
			orders = ordersOf(t, l.sort)
		}
		for _, o := range orders {
			q := pageOf(o.word, l.in, within, o.sort, pageSize)
			q.sort = o.word
			all = append(all, q)
		}
		for _, c := range criteriaOf(t, l.filter) {
			filter, related := c.selectFrom(t, ws, l.in)
			filter = append(filter, l.within...)
			all = append(append(all, related...), count(c.label, l.in, filter))
			for _, o := range orders {
				all = append(all, pageOf(c.label+" by "+o.word, l.in, filter, o.sort, pageSize))
			}
		}
	}
	for _, rel := range allRelations {
		if known[rel.to] && known[rel.from] {
			all = append(all, relationQueries(t, ws, rel)...)
		}
	}
	all = append(all, eventQueries(t, ws)...)
	return slices.Concat(all, serviceQueries(ws), backgroundQueries(ws))
}

// ordered is a value of a sort.
type ordered struct {
	word string
	sort bson.D
}

func ordersOf(t *testing.T, e protoreflect.Enum) []ordered {
	t.Helper()
	var list []ordered
	values := e.Descriptor().Values()
	for i := 1; i < values.Len(); i++ {
		value := e.Type().New(values.Get(i).Number())
		if Computed(value) {
			continue
		}
		sort, err := Sort(value)
		require.NoError(t, err)
		word, _ := restjson.EnumWord(e.Descriptor(), values.Get(i).Number())
		list = append(list, ordered{word, sort})
	}
	return list
}

// sampled is a filter message with one criterion.
type sampled struct {
	label string
	m     proto.Message
}

// criteriaOf returns one filter for each single criterion of a filter message.
func criteriaOf(t *testing.T, filter proto.Message) []sampled {
	t.Helper()
	var list []sampled
	for _, path := range criteria.Of(filter.ProtoReflect().Descriptor()) {
		m := filter.ProtoReflect().New()
		sampleField(path.Leaf(m))
		list = append(list, sampled{path.String(), m.Interface()})
	}
	require.NotEmpty(t, list)
	return list
}

func sampleField(m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	switch {
	case fd.IsList():
		m.Mutable(fd).List().Append(sampleScalar(fd))
	case fd.Message() == nil:
		m.Set(fd, sampleScalar(fd))
	case fd.Message().FullName() == "google.protobuf.Timestamp":
		m.Set(fd, protoreflect.ValueOfMessage((&timestamppb.Timestamp{Nanos: 5000}).ProtoReflect()))
	default:
		for i := range fd.Message().Fields().Len() {
			sampleField(m.Mutable(fd).Message(), fd.Message().Fields().Get(i))
		}
	}
}

func sampleScalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(5)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(5)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(`{"a": 1}`))
	}
	if restjson.Options(fd).GetFormat() == orchv1.Format_FORMAT_UUID {
		return protoreflect.ValueOfString(numbered(5).String())
	}
	return protoreflect.ValueOfString("tags5")
}

// selectFrom resolves the filter on an empty store. It returns the filter and the queries of related collections that
// this takes.
func (s sampled) selectFrom(t *testing.T, ws uuid.UUID, own Collection) (bson.D, []labelledQuery) {
	t.Helper()
	p, err := PlanOf(own, s.m)
	require.NoError(t, err, s.label)
	r := &recorder{label: string(own) + " by " + s.label}
	selection, err := Resolver{Reader: r}.Select(t.Context(), ws, p)
	require.NoError(t, err, s.label)
	filter, _ := selection.Filter()
	return filter, r.queries
}

// recorder is a Reader of an empty store that records queries.
type recorder struct {
	Reader

	label   string
	queries []labelledQuery
}

// Groups returns one value: an empty result would simplify the filter too much.
func (r *recorder) Groups(_ context.Context, c Collection, _ bson.D, field string, filter bson.D, _ int) ([]bson.RawValue, error) {
	r.queries = append(r.queries, groups(r.label, c, field, filter))
	kind, value, err := bson.MarshalValue(binary(numbered(5)))
	return []bson.RawValue{{Type: kind, Value: value}}, err
}

// Count returns few documents, so that their ids are gathered.
func (r *recorder) Count(_ context.Context, c Collection, filter bson.D, _ int64) (int64, error) {
	r.queries = append(r.queries, count(r.label, c, filter))
	return 1, nil
}

func (r *recorder) CountBy(ctx context.Context, c Collection, _, filter bson.D, limit int64) (int64, error) {
	return r.Count(ctx, c, filter, limit)
}

// Stream returns no documents.
func (r *recorder) Stream(_ context.Context, c Collection, filter bson.D, o StreamOptions) iter.Seq2[bson.Raw, error] {
	r.queries = append(r.queries, find(r.label, c, filter, o.Sort, int(o.Limit)))
	return func(func(bson.Raw, error) bool) {}
}

// relationQueries are the queries that a related filter sends to both sides: all documents of the far side, and those
// of a batch of the near side. Then it reads the matching documents of the near side in every order.
func relationQueries(t *testing.T, ws uuid.UUID, rel relation) []labelledQuery {
	t.Helper()
	label := string(rel.from) + " related to " + string(rel.to)
	ids := bson.D{{Key: "$in", Value: bson.A{binary(numbered(1)), binary(numbered(2))}}}
	near := Scope(ws, bson.D{{Key: rel.local, Value: ids}})
	all := []labelledQuery{
		groups(label, rel.to, rel.foreign, rel.referring(Scope(ws, nil))),
		groups(label, rel.to, rel.foreign, Scope(ws, bson.D{{Key: rel.foreign, Value: ids}})),
		count(label, rel.from, near),
	}
	if rel == flowRuns {
		states := bson.E{Key: "state.type", Value: bson.D{{Key: "$in", Value: bson.A{"RUNNING", "PAUSED"}}}}
		window := bson.E{Key: "expected_start_time", Value: bson.D{{Key: "$gte", Value: int64(5)}}}
		for _, filter := range []bson.D{{states}, {states, window}} {
			q := groups(label+" of some states", rel.to, rel.foreign, rel.referring(Scope(ws, filter)))
			q.keysOnly = true
			all = append(all, q)
		}
	}
	for _, l := range listed {
		if l.in == rel.from && l.sort != nil {
			for _, o := range ordersOf(t, l.sort) {
				all = append(all, pageOf(label+" by "+o.word, rel.from, near, o.sort, pageSize))
			}
		}
	}
	return all
}

// eventQueries are pages of events by each criterion of their filter, newest and oldest first, and counts.
func eventQueries(t *testing.T, ws uuid.UUID) []labelledQuery {
	t.Helper()
	var all []labelledQuery
	for _, c := range []struct{ label, filter string }{
		{"occurred", `{}`},
		{"event.name", `{"event": {"name": ["a"]}}`},
		{"event.prefix", `{"event": {"prefix": ["a"]}}`},
		{"resource.id", `{"resource": {"id": ["a"]}}`},
		{"resource.id_prefix", `{"resource": {"id_prefix": ["a"]}}`},
		{"any_resource.id", `{"any_resource": {"id": ["a"]}}`},
		{"related.id", `{"related": {"id": ["a"]}}`},
		{"id", `{"id": {"id": ["` + someID + `"]}}`},
		{"text", `{"text": {"query": "a"}}`},
	} {
		m := parse(t, &orchv1.EventFilter{}, c.filter)
		filter, err := CompileEvents(m, EventOptions{Now: time.Unix(0, 0), Vocabulary: vocabulary.Orch, Workspace: ws})
		require.NoError(t, err)
		filter = Scope(ws, filter)
		all = append(all,
			pageOf(c.label, Event, filter, EventSort(orchv1.EventOrder_EVENT_ORDER_DESC), pageSize),
			pageOf(c.label, Event, filter, EventSort(orchv1.EventOrder_EVENT_ORDER_ASC), pageSize),
			count(c.label, Event, filter))
	}
	return all
}
