package query

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/protobson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// sorted are the stored messages of the sorts, with their collections.
var sorted = []struct {
	sort   protoreflect.Enum
	stored proto.Message
	in     Collection
}{
	{orchv1.FlowSort(0), &orchv1.Flow{}, Flow},
	{orchv1.FlowRunSort(0), &orchv1.FlowRun{}, FlowRun},
	{orchv1.WebhookSort(0), &orchv1.Webhook{}, Webhook},
}

func TestSort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sort protoreflect.Enum
		want bson.D
	}{
		{orchv1.FlowRunSort_FLOW_RUN_SORT_ID_DESC, bson.D{{Key: "_id", Value: -1}}},
		{orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_ASC, bson.D{{Key: "sort_start", Value: 1}, {Key: "_id", Value: 1}}},
		{orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_DESC, bson.D{{Key: "sort_start", Value: -1}, {Key: "_id", Value: -1}}},
		{
			orchv1.FlowRunSort_FLOW_RUN_SORT_NEXT_SCHEDULED_START_TIME_ASC,
			bson.D{{Key: "next_scheduled_start_time", Value: 1}, {Key: "_id", Value: 1}},
		},
		{orchv1.WebhookSort_WEBHOOK_SORT_NAME_DESC, bson.D{{Key: "name", Value: -1}, {Key: "_id", Value: -1}}},
	} {
		t.Run(fmt.Sprint(c.sort), func(t *testing.T) {
			got, err := Sort(c.sort)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	for _, e := range []protoreflect.Enum{
		orchv1.FlowSort_FLOW_SORT_UNSPECIFIED, orchv1.FlowSort(99), orchv1.StateType_STATE_TYPE_RUNNING,
	} {
		_, err := Sort(e)
		require.ErrorIs(t, err, ErrSort)
	}
	require.Equal(t, bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}}, EventSort(0))
	require.Equal(t, bson.D{{Key: "occurred", Value: 1}, {Key: "_id", Value: 1}}, EventSort(orchv1.EventOrder_EVENT_ORDER_ASC))
}

// A server sorts by a unique field alone, within a workspace.
func TestOrdering(t *testing.T) {
	t.Parallel()
	byName, byCreated := bson.D{{Key: "name", Value: -1}, {Key: "_id", Value: -1}}, bson.D{{Key: "created", Value: 1}, {Key: "_id", Value: 1}}
	within := Scope(uuid.New(), nil)
	for _, c := range []struct {
		name         string
		in           Collection
		filter, have bson.D
		want         bson.D
	}{
		{"unique name", Flow, within, byName, byName[:1]},
		{"another field", Flow, within, byCreated, byCreated},
		{"name that several documents may have", FlowRun, within, byName, byName},
		{"name that is unique beside a pool", WorkQueue, within, byName, byName},
		{"name that is unique where it is set", Webhook, within, bson.D{{Key: "unique_name", Value: 1}, {Key: "_id", Value: 1}}, bson.D{{Key: "unique_name", Value: 1}, {Key: "_id", Value: 1}}},
		{"all workspaces", Flow, bson.D{{Key: "name", Value: "a"}}, byName, byName},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, ordering(c.in, c.filter, c.have))
		})
	}
}

// TestEverySortIsStoredAndIndexed checks that each value of each sort names stored fields in the order of an index.
func TestEverySortIsStoredAndIndexed(t *testing.T) {
	t.Parallel()
	for _, s := range sorted {
		values := s.sort.Descriptor().Values()
		for i := 1; i < values.Len(); i++ {
			sort := s.sort.Type().New(values.Get(i).Number())
			d, err := Sort(sort)
			if Computed(sort) {
				require.ErrorIs(t, err, ErrSort)
				continue
			}
			require.NoError(t, err)
			requireStored(t, s.stored, d[0].Key)
			require.True(t, indexedBy(s.in, d), "%s %s", s.in, values.Get(i).Name())
		}
	}
}

// requireStored fails unless a path leads to a stored field.
func requireStored(t *testing.T, m proto.Message, path string) {
	t.Helper()
	md := m.ProtoReflect().Descriptor()
	for _, step := range strings.Split(path, ".") {
		if step == "_id" {
			step = "id"
		}
		require.NotNil(t, md, path)
		fd := md.Fields().ByName(protoreflect.Name(step))
		require.NotNil(t, fd, "%s: %s", md.Name(), path)
		_, stored := protobson.Key(fd)
		require.True(t, stored, "%s: %s", md.Name(), path)
		md = fd.Message()
	}
}

// indexedBy reports whether an index provides the order of d within a workspace. An index whose keys are unique within
// it needs no _id at its end.
func indexedBy(c Collection, d bson.D) bool {
	for _, ix := range Indexes() {
		if ix.Collection != c || ix.Partial != nil || ix.Keys[0].Key != workspaceKey {
			continue
		}
		rest := ix.Keys[1:]
		if len(rest) > 0 && rest[0].Key == d[0].Key && (len(d) == 1 || len(rest) > 1 && rest[1].Key == "_id" || ix.Unique && len(rest) == 1) {
			return true
		}
	}
	return false
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	stored := map[Collection]proto.Message{
		Flow: &orchv1.Flow{}, FlowRun: &orchv1.FlowRun{}, FlowRunState: &orchv1.FlowRunStateRecord{},
		Event: &orchv1.ReceivedEvent{}, Webhook: &orchv1.Webhook{},
	}
	seen := map[string]bool{}
	for _, ix := range Indexes() {
		name := string(ix.Collection) + canonical(t, ix.Keys)
		require.False(t, seen[name], "twice: %s", name)
		seen[name] = true
		require.NotEmpty(t, ix.For)
		if ix.TTL {
			require.Len(t, ix.Keys, 1)
		}
		for _, k := range ix.Keys {
			m := stored[ix.Collection]
			if m == nil || k.Key == workspaceKey || strings.HasPrefix(k.Key, "outbox") || k.Key == "expire_at" {
				continue
			}
			requireStored(t, m, k.Key)
		}
	}
	for _, rel := range allRelations {
		if rel.foreign == "_id" {
			continue
		}
		found := false
		for _, ix := range Indexes() {
			found = found || ix.Collection == rel.to && len(ix.Keys) > 1 && ix.Keys[1].Key == rel.foreign
		}
		require.True(t, found, "no index for %s by %s.%s", rel.from, rel.to, rel.foreign)
	}
}
