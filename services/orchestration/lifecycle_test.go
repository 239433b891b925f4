package orchestration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// published is the one event of that name.
func (d *domain) published(name string) *orchv1.ReceivedEvent {
	d.t.Helper()
	var page *orchv1.EventPage
	eventually(d.t, func() bool {
		page = d.events(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{name}}}})
		return page.GetTotal() > 0
	}, name)
	require.Len(d.t, page.GetEvents(), 1, name)
	return page.GetEvents()[0]
}

// Whoever hears of a change learns what the thing is now and what was changed.
func TestLifeCyclesArePublished(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("f")
	call[*emptypb.Empty](d, orchv1.FlowService_UpdateFlow_FullMethodName, &orchv1.UpdateFlowRequest{
		Id: flow.GetId(), Flow: &orchv1.FlowUpdate{Tags: []string{"t"}}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"tags"}},
	})
	variable := call[*orchv1.Variable](d, orchv1.VariableService_CreateVariable_FullMethodName, &orchv1.CreateVariableRequest{
		Variable: &orchv1.VariableCreate{Name: "v", Value: []byte(`{"a": 1.0}`)},
	})
	call[*emptypb.Empty](d, orchv1.VariableService_UpdateVariable_FullMethodName, &orchv1.UpdateVariableRequest{
		Id: variable.GetId(), Variable: &orchv1.VariableUpdate{Value: []byte(`2`)}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"value"}},
	})
	limit := call[*orchv1.ConcurrencyLimitV2](d, orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName,
		&orchv1.CreateConcurrencyLimitV2Request{ConcurrencyLimit: &orchv1.ConcurrencyLimitV2Create{Name: "l", Limit: 1, Active: true}})
	call[*emptypb.Empty](d, orchv1.ConcurrencyLimitV2Service_UpdateConcurrencyLimitV2_FullMethodName, &orchv1.UpdateConcurrencyLimitV2Request{
		IdOrName: limit.GetId(), ConcurrencyLimit: &orchv1.ConcurrencyLimitV2Update{Limit: new(int64(5))},
	})
	run := d.run(flow)
	call[*orchv1.Artifact](d, orchv1.ArtifactService_CreateArtifact_FullMethodName, &orchv1.CreateArtifactRequest{
		Artifact: &orchv1.ArtifactCreate{Key: new("k"), Type: new("markdown"), Data: []byte(`"text"`), FlowRunId: new(run.GetId())},
	})

	for name, want := range map[string]string{
		"orch.flow.created":              `{"name": "f", "tags": [], "labels": {}}`,
		"orch.flow.updated":              `{"name": "f", "tags": ["t"], "labels": {}, "updated_fields": ["tags"], "updates": {"tags": {"from": [], "to": ["t"]}}}`,
		"orch.variable.created":          `{"name": "v", "value": {"a": 1.0}, "tags": []}`,
		"orch.variable.updated":          `{"name": "v", "value": 2, "tags": [], "updated_fields": ["value"], "updates": {"value": {"from": {"a": 1.0}, "to": 2}}}`,
		"orch.concurrency-limit.created": `{"name": "l", "limit": 1, "active": true, "slot_decay_per_second": 0.0}`,
		"orch.concurrency-limit.updated": `{"name": "l", "limit": 5, "active": true, "slot_decay_per_second": 0.0,
			"updated_fields": ["limit"], "updates": {"limit": {"from": 1, "to": 5}}}`,
		"orch.artifact.created":            `{"key": "k", "type": "markdown", "description": null}`,
		"orch.artifact-collection.created": `{"key": "k", "type": "markdown", "data": "text", "description": null}`,
	} {
		require.JSONEq(t, want, string(d.published(name).GetPayload()), name)
	}
	var roles []string
	for _, related := range d.published("orch.artifact-collection.created").GetRelated() {
		roles = append(roles, related.GetLabels()["orch.resource.role"])
	}
	require.Equal(t, []string{"latest", "flow-run"}, roles)
}
