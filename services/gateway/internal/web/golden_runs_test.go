package web

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// runCases are the pages of runs, flows, deployments and what they use.
func runCases() []pageCase {
	return []pageCase{
		{name: "home", path: "/", answers: lists()},
		{name: "home-attention", path: "/", answers: needingAttention()},
		{name: "home-empty", path: "/?from=-7d", keys: true, answers: answers{
			orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName: &orchv1.FlowRunScatter{},
			orchv1.FlowRunService_CountFlowRuns_FullMethodName:     &orchv1.CountResponse{},
			orchv1.FlowRunService_ReadFlowRuns_FullMethodName:      &orchv1.FlowRunList{},
			orchv1.FlowService_CountFlows_FullMethodName:           &orchv1.CountResponse{},
			orchv1.WebhookService_CountWebhooks_FullMethodName:     &orchv1.CountResponse{},
		}},
		{name: "search", path: "/search?q=" + url.QueryEscape("load "+hostile), answers: searchAnswers()},
		{name: "search-none", path: "/search?q=nothing", answers: answers{
			orchv1.FlowService_ReadFlows_FullMethodName:             &orchv1.FlowList{},
			orchv1.DeploymentService_ReadDeployments_FullMethodName: rpc.Detail(503, "away"),
			orchv1.FlowRunService_ReadFlowRuns_FullMethodName:       &orchv1.FlowRunList{},
			orchv1.WebhookService_ReadWebhooks_FullMethodName:       &orchv1.WebhookList{},
		}},
		{name: "search-empty", path: "/search"},
		{name: "search-bad", path: "/search?q=%ff", status: 400},
		{name: "search-id", path: "/search?q=" + someID, status: 303, answers: searchAnswers()},
		{name: "runs", path: "/runs?state=FAILED&tag=prod&n=1", answers: lists()},
		{name: "runs-states", path: "/runs?state=FAILED&state=CRASHED&state=late", answers: lists()},
		{name: "runs-cancelled-one", path: "/runs?did=cancel-runs&count=1", answers: lists()},
		{name: "runs-named", path: "/runs?flow=nightly-sync&deployment=nightly-sync/prod&deployment=other&pool=local", answers: named(lists())},
		{name: "runs-nothing-named", path: "/runs?flow=nothing&deployment=nothing/prod", answers: lists()},
		{name: "runs-histogram", path: "/runs?chart=histogram", answers: lists()},
		{name: "runs-scatter", path: "/runs/scatter?from=-2h", answers: lists()},
		{name: "runs-bad", path: "/runs?from=yesterday", status: 400},
		{name: "runs-away", path: "/runs", status: 503, answers: answers{
			orchv1.FlowRunService_ReadFlowRuns_FullMethodName: rpc.Detail(503, "away"),
		}},
		{name: "runs-delete", path: "/runs?state=FAILED", answers: lists(), form: url.Values{"action": {"delete-runs"}, "id": {someID, "x", someID}}},
		{name: "runs-cancel-none", path: "/runs", answers: lists(), form: url.Values{"action": {"cancel-runs"}}},
		{name: "runs-delete-all", path: "/runs?state=FAILED&from=-2h", answers: lists(), form: url.Values{"action": {"delete-all-runs"}}},
		{name: "runs-cancel-all-none", path: "/runs?state=FAILED", answers: lists(), form: url.Values{"action": {"cancel-all-runs"}}},
		{name: "runs-save-view", path: "/runs?state=FAILED", answers: lists(), status: 303, form: url.Values{"action": {"save-view"}, "view": {"failures"}}},
		{name: "runs-save-no-view", path: "/runs", answers: lists(), status: 422, form: url.Values{"action": {"save-view"}, "view": {"all"}}},
		{name: "runs-delete-view", path: "/runs", answers: lists(), form: url.Values{"action": {"delete-view"}, "view": {someID}}},
		{name: "status", path: "/status", answers: lists()},
	}
}

// named adds answers for the names in an address.
func named(all answers) answers {
	all[orchv1.FlowService_ReadFlows_FullMethodName] = &orchv1.FlowList{Flows: []*orchv1.Flow{{Id: someID, Name: "nightly-sync"}}}
	all[orchv1.DeploymentService_ReadDeploymentByName_FullMethodName] = &orchv1.Deployment{Id: someID, Name: "prod"}
	all[orchv1.DeploymentService_ReadDeployments_FullMethodName] = &orchv1.DeploymentList{}
	return all
}

// hostile is text that must appear escaped wherever users' text appears.
const hostile = "<b onclick=\"x\">'\"&\u202Eevil"

// lists are the answers of the calls for lists.
func lists() answers {
	state := &orchv1.State{
		Id: someID, Type: orchv1.StateType_STATE_TYPE_FAILED, Name: proto.String("Failed"), Timestamp: at(time.Minute),
		Message: proto.String("Flow run encountered an exception: KeyError: " + hostile + "\nsecond line"),
	}
	flowRun := &orchv1.FlowRun{
		Id: someID, Created: at(time.Hour), Updated: at(time.Minute), Name: "able-condor " + hostile, FlowId: someID,
		StateType: state.Type.Enum(), StateName: state.Name, State: state, RunCount: 2, StartTime: at(10 * time.Minute),
		ExpectedStartTime: at(11 * time.Minute), EndTime: at(time.Minute), TotalRunTime: 540, EstimatedRunTime: 540,
		Tags: []string{"prod", hostile}, DeploymentId: proto.String(someID), Parameters: []byte(`{"a": [1, "<x>"]}`),
	}
	second := proto.CloneOf(flowRun)
	second.Id, second.Name = "01890000-0000-7000-8000-000000000002", "busy-heron"
	return answers{
		orchv1.FlowRunService_ReadFlowRuns_FullMethodName:      &orchv1.FlowRunList{FlowRuns: []*orchv1.FlowRun{flowRun, second}},
		orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName: scatterOf,
		orchv1.SavedSearchService_ReadSavedSearches_FullMethodName: &orchv1.SavedSearchList{SavedSearches: []*orchv1.SavedSearch{
			{Id: someID, Name: "failures " + hostile, Filters: []*orchv1.SavedSearchFilter{
				{Object: "flow_run", Property: "state", Type: "parameter", Operation: "equals", Value: []byte(`"FAILED"`)},
				{Object: "flow_run", Property: "tag", Type: "parameter", Operation: "equals", Value: []byte(`"prod"`)},
			}},
			{Id: someID, Name: "of another client", Filters: []*orchv1.SavedSearchFilter{{Object: "flow_run", Property: "state", Type: "string", Operation: "any", Value: []byte(`["x"]`)}}},
		}},
		orchv1.SavedSearchService_CreateSavedSearch_FullMethodName: &orchv1.SavedSearch{Id: someID},
		orchv1.FlowRunService_CountFlowRuns_FullMethodName: func(r proto.Message) proto.Message {
			if r.(*orchv1.CountFlowRunsRequest).GetQuery().GetLimit() > 0 {
				return &orchv1.CountResponse{Count: 3} // Late ones.
			}
			return &orchv1.CountResponse{Count: 1234}
		},
		orchv1.FlowService_CountFlows_FullMethodName:       &orchv1.CountResponse{Count: 7},
		orchv1.WebhookService_CountWebhooks_FullMethodName: &orchv1.CountResponse{Count: 3},
		orchv1.EventService_ReadEvents_FullMethodName:      &orchv1.EventPage{Total: 1234},
		orchv1.FlowService_ReadFlows_FullMethodName:        &orchv1.FlowList{Flows: []*orchv1.Flow{{Id: someID, Name: "nightly-sync"}}},
		orchv1.UiFlowService_CountTaskRunsByFlowRun_FullMethodName: &orchv1.CountsById{
			Counts: map[string]int64{someID: 41},
		},
	}
}

// scatterOf answers the call for a scatter or, in one row, a histogram.
func scatterOf(r proto.Message) proto.Message {
	if r.(*orchv1.ReadFlowRunScatterRequest).GetQuery().GetRows() == 1 {
		return &orchv1.FlowRunScatter{Count: 1220, Rows: 1, Shortest: 0.5, Longest: 900, Cells: []*orchv1.FlowRunScatterCell{
			{Column: 20, StateType: orchv1.StateType_STATE_TYPE_COMPLETED, Count: 1200},
			{Column: 20, StateType: orchv1.StateType_STATE_TYPE_SCHEDULED, Count: 3},
			{Column: 40, StateType: orchv1.StateType_STATE_TYPE_FAILED, Count: 17},
		}}
	}
	return &orchv1.FlowRunScatter{Count: 4, Rows: 100, Shortest: 0.5, Longest: 900, Cells: []*orchv1.FlowRunScatterCell{
		{Column: 3, Row: 20, StateType: orchv1.StateType_STATE_TYPE_COMPLETED, Count: 3, FlowRunIds: []string{someID}},
		{Column: 475, Row: 92, StateType: orchv1.StateType_STATE_TYPE_FAILED, Count: 1, FlowRunIds: []string{someID}},
	}}
}

// needingAttention are the answers for a workspace in which a run waits for an input, a pool with a late run has no worker, and
// two webhooks are unwell.
func needingAttention() answers {
	all := lists()
	failed := all[orchv1.FlowRunService_ReadFlowRuns_FullMethodName]
	waiting := pausedRun()[orchv1.FlowRunService_ReadFlowRun_FullMethodName].(*orchv1.FlowRun)
	late := &orchv1.FlowRun{Id: someID, Name: "late", WorkPoolName: proto.String("kubernetes"), ExpectedStartTime: at(12 * time.Minute)}
	maps.Copy(all, answers{
		orchv1.FlowRunService_ReadFlowRuns_FullMethodName: func(r proto.Message) proto.Message {
			state := r.(*orchv1.ReadFlowRunsRequest).GetQuery().GetFlowRuns().GetState()
			switch {
			case state.GetName() != nil:
				return &orchv1.FlowRunList{FlowRuns: []*orchv1.FlowRun{late}}
			case slices.Contains(state.GetType().GetAny_().GetValues(), orchv1.StateType_STATE_TYPE_PAUSED):
				return &orchv1.FlowRunList{FlowRuns: []*orchv1.FlowRun{waiting}}
			}
			return failed.(proto.Message)
		},
		orchv1.WorkPoolService_ReadWorkPools_FullMethodName: &orchv1.WorkPoolList{WorkPools: []*orchv1.WorkPool{
			{Id: someID, Name: "kubernetes", Status: orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY.Enum()},
			{Id: someID, Name: "local", Status: orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY.Enum()},
		}},
		orchv1.WebhookService_ReadWebhooks_FullMethodName: &orchv1.WebhookList{Webhooks: []*orchv1.Webhook{
			{Id: someID, Name: "github " + hostile, Enabled: true, Health: &orchv1.WebhookHealth{
				Status: orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_FAILING, Requests: 50, Failures: 6, Reason: proto.String("event"),
			}},
			{Id: someID, Name: "meter", Enabled: true, Health: &orchv1.WebhookHealth{Status: orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_SILENT, Since: at(time.Hour)}},
			{Id: someID, Name: "off", Health: &orchv1.WebhookHealth{Status: orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_FAILING}},
		}},
	})
	return all
}

// searchAnswers are the answers of a search.
func searchAnswers() answers {
	all := lists()
	maps.Copy(all, answers{
		orchv1.DeploymentService_ReadDeployments_FullMethodName: &orchv1.DeploymentList{Deployments: []*orchv1.Deployment{{Id: someID, Name: "prod " + hostile}}},
		orchv1.WebhookService_ReadWebhooks_FullMethodName:       &orchv1.WebhookList{Webhooks: []*orchv1.Webhook{{Id: someID, Name: "github " + hostile}}},
		orchv1.TaskRunService_ReadTaskRuns_FullMethodName:       &orchv1.TaskRunList{},
	})
	return all
}
