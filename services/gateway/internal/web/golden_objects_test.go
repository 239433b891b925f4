package web

import (
	"maps"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const parameterSchema = `{"type": "object", "required": ["limit"], "properties": {
	"tables": {"type": "array", "position": 2}, "limit": {"type": "integer", "position": 0, "description": "at most <b>"},
	"mode": {"enum": ["full", "delta"], "default": "delta", "position": 1}, "dry_run": {"type": "boolean", "default": true},
	"hosts": {"type": "array", "title": "Host", "position": 3, "items": {"properties": {"name": {"type": "string"}, "ports": {"type": "array", "items": {"type": "integer"}}}}}}}`

// blockSchema has a text, secrets of both kinds and another block.
const blockSchema = `{"type": "object", "required": ["host", "password"], "secret_fields": ["password", "options.*"],
	"block_schema_references": {"credentials": {"block_type_slug": "database-credentials"}}, "properties": {
	"host": {"type": "string", "title": "Host", "position": 0}, "password": {"type": "string", "format": "password", "title": "Password", "position": 1},
	"options": {"type": "object", "title": "Options", "position": 2}, "credentials": {"allOf": [{"$ref": "#/definitions/C"}], "position": 3}},
	"definitions": {"C": {"type": "object", "properties": {"user": {"type": "string"}}}}}`

// upcomingRuns are more runs than fit the upcoming ones of an object.
func upcomingRuns() *orchv1.FlowRunList {
	list := &orchv1.FlowRunList{}
	for i := range 4 {
		list.FlowRuns = append(list.FlowRuns, &orchv1.FlowRun{
			Id: someID, Name: "upcoming " + hostile, FlowId: someID, StateType: orchv1.StateType_STATE_TYPE_SCHEDULED.Enum(), StateName: proto.String("Scheduled"),
			ExpectedStartTime: at(-time.Duration(i+1) * time.Hour), Tags: []string{"auto-scheduled"},
		})
	}
	return list
}

// objectAnswers are the answers of the calls of the pages of flows, deployments and what they use.
func objectAnswers() answers {
	all := flowRunAnswers()
	past, upcoming := all[orchv1.FlowRunService_ReadFlowRuns_FullMethodName].(*orchv1.FlowRunList), upcomingRuns()
	deployment := &orchv1.Deployment{
		Id: someID, FlowId: someID, Name: "prod " + hostile, Description: proto.String("# Nightly\n\n**bold** <script>alert(1)</script> [x](javascript:alert(1)) ![i](https://example.com/i.png)"),
		Parameters: []byte(`{"limit": 10}`), ParameterOpenapiSchema: []byte(parameterSchema), Tags: []string{"prod"}, WorkPoolName: proto.String("kubernetes"),
		Schedules: []*orchv1.DeploymentSchedule{{Id: someID, Active: true, Schedule: &orchv1.Schedule{Kind: &orchv1.Schedule_Cron{Cron: &orchv1.CronSchedule{Cron: "0 2 * * *", Timezone: proto.String("Europe/Vienna")}}}}},
	}
	pool := &orchv1.WorkPool{Id: someID, Name: "kubernetes", Type: "kubernetes", ConcurrencyLimit: proto.Int64(10), ActiveSlots: proto.Int64(3), Description: proto.String(hostile), Created: at(time.Hour), BaseJobTemplate: []byte(`{"job": 1}`)}
	automation := &orchv1.Automation{
		Id: someID, Name: "retry " + hostile, Enabled: true, Updated: at(time.Hour),
		Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
			Id: someID, Expect: []string{"orch.flow-run.Failed"}, Posture: orchv1.Posture_POSTURE_REACTIVE, Threshold: 3, Within: durationpb.New(10 * time.Minute),
			Match: &orchv1.ResourceSpecification{}, MatchRelated: &orchv1.RelatedMatch{Kind: &orchv1.RelatedMatch_One{One: &orchv1.ResourceSpecification{}}},
		}}},
		Actions: []*orchv1.Action{{Kind: &orchv1.Action_PauseDeployment{PauseDeployment: &orchv1.PauseDeployment{Source: orchv1.ActionSource_ACTION_SOURCE_INFERRED}}}},
	}
	artifact := &orchv1.Artifact{
		Id: someID, Key: proto.String("report"), Type: proto.String("markdown"), Data: []byte(`"# Orders\n\n<img src=x onerror=alert(1)>"`), Created: at(time.Minute), FlowRunId: proto.String(someID),
	}
	destination := &orchv1.Destination{
		Id: someID, Name: "warehouse " + hostile, Url: "https://warehouse.example.com/***", Enabled: true, HeaderNames: []string{"X-Tenant"}, Signed: true,
		Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"order.*"}, Filter: proto.String("event.payload.total > 100")}},
		OrderedBy:     []string{"orch.resource.id"}, RateLimit: proto.Int64(50), RetryFor: 604800, Updated: at(time.Hour),
		Oauth: &orchv1.DestinationOAuth{TokenUrl: "https://login.example.com/token", ClientId: "orch", Scopes: []string{"write", "read"}},
		Tls:   &orchv1.DestinationTls{Ca: "-----BEGIN CERTIFICATE-----\n" + hostile}, Proxy: proto.String("http://proxy.example.com:3128"),
		Health: &orchv1.DestinationHealth{
			Status: orchv1.DestinationStatus_DESTINATION_STATUS_FAILING, Since: at(time.Hour), NextProbe: at(-time.Minute), Failures: 7, Cause: proto.String(hostile),
		},
	}
	toDestination := &orchv1.DestinationDelivery{
		Id: someID, DestinationId: someID, EventId: someID, Event: "order.paid", Queued: at(time.Hour), Attempts: 2, NextAttempt: at(-time.Minute),
		State: orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING, Method: "POST", Address: "https://warehouse.example.com",
		Headers: map[string]string{"x-tenant": "***"}, Body: hostile, Error: proto.String("the destination responded with status 502"),
		Log: []*orchv1.DestinationAttempt{
			{Attempted: at(time.Hour), Latency: 0.25, Error: proto.String("dial: connection refused")},
			{Attempted: at(time.Minute), Latency: 0.5, Status: proto.Int64(502), Error: proto.String("the destination responded with status 502"), ResponseBody: hostile},
		},
	}
	variable := &orchv1.Variable{Id: someID, Name: "region", Value: []byte(`{"a": "<b>"}`), Tags: []string{"infra"}, Updated: at(time.Hour)}
	blockType := &orchv1.BlockType{Id: someID, Name: "SQL", Slug: "sql", Description: proto.String("A database " + hostile)}
	block := &orchv1.BlockDocument{
		Id: someID, Name: proto.String("warehouse"), Data: []byte(`{"host": "db", "password": "********", "options": {"token": "********"}, "credentials": {"user": "x"}}`), BlockType: blockType, Updated: at(time.Hour),
		BlockSchema: &orchv1.BlockSchema{Id: someID, BlockTypeId: proto.String(someID), Fields: []byte(blockSchema)}, BlockDocumentReferences: map[string][]byte{"credentials": []byte(`{"block_document": {"id": "` + someID + `"}}`)},
	}
	limit := &orchv1.DeploymentConcurrencyLimit{Id: someID, Name: "warehouse", Limit: 4, ActiveSlots: 1, Active: true, Created: at(time.Hour)}
	maps.Copy(all, answers{
		orchv1.FlowRunService_ReadFlowRuns_FullMethodName: func(r proto.Message) proto.Message {
			if r.(*orchv1.ReadFlowRunsRequest).GetQuery().GetSort() == orchv1.FlowRunSort_FLOW_RUN_SORT_EXPECTED_START_TIME_ASC {
				return upcoming
			}
			return past
		},
		orchv1.DeploymentService_ReadDeployment_FullMethodName: deployment,
		orchv1.BackfillService_CreateBackfill_FullMethodName:   &orchv1.Backfill{}, orchv1.BackfillService_PauseBackfill_FullMethodName: &orchv1.Backfill{},
		orchv1.BackfillService_ReadBackfills_FullMethodName: &orchv1.BackfillList{Backfills: []*orchv1.Backfill{
			{
				Id: someID, DeploymentId: someID, StartTime: at(48 * time.Hour), EndTime: at(time.Hour), State: orchv1.BackfillState_BACKFILL_STATE_RUNNING, MaxParallelRuns: 2,
				TotalRuns: 1200, CreatedRuns: 40, UnfinishedRuns: 2, CompletedRuns: 35, FailedRuns: 3,
			},
			{
				Id: someID, DeploymentId: someID, StartTime: at(48 * time.Hour), EndTime: at(time.Hour), State: orchv1.BackfillState_BACKFILL_STATE_CANCELLED, Message: proto.String("The deployment was deleted."),
				TotalRuns: 5, CreatedRuns: 1, CancelledRuns: 1,
			},
		}},
		orchv1.DeploymentService_ReadDeployments_FullMethodName:                &orchv1.DeploymentList{Deployments: []*orchv1.Deployment{deployment}},
		orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName:       &emptypb.Empty{},
		orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName:             &orchv1.CountsById{Counts: map[string]int64{someID: 2}},
		orchv1.UiFlowService_NextRunsByFlow_FullMethodName:                     &orchv1.NextRuns{Runs: map[string]*orchv1.NextRun{someID: {Run: &orchv1.SimpleNextFlowRun{NextScheduledStartTime: at(-time.Hour)}}}},
		orchv1.UiScheduleService_PreviewSchedule_FullMethodName:                &orchv1.SchedulePreview{Times: []*timestamppb.Timestamp{at(-time.Hour), at(-25 * time.Hour)}},
		orchv1.WorkPoolService_ReadWorkPool_FullMethodName:                     pool,
		orchv1.WorkPoolService_ReadWorkPools_FullMethodName:                    &orchv1.WorkPoolList{WorkPools: []*orchv1.WorkPool{pool}},
		orchv1.WorkPoolService_ReadWorkPoolQueues_FullMethodName:               &orchv1.WorkQueueList{WorkQueues: []*orchv1.WorkQueue{{Id: someID, Name: "default", Priority: 1, LastPolled: at(time.Minute)}}},
		orchv1.WorkPoolService_ReadWorkers_FullMethodName:                      &orchv1.WorkerList{Workers: []*orchv1.Worker{{Id: someID, Name: "worker " + hostile, Status: orchv1.WorkerStatus_WORKER_STATUS_ONLINE, LastHeartbeatTime: at(time.Minute)}}},
		orchv1.WorkQueueService_ReadWorkQueue_FullMethodName:                   &orchv1.WorkQueue{Id: someID, WorkPoolName: proto.String("kubernetes")},
		orchv1.AutomationService_ReadAutomation_FullMethodName:                 automation,
		orchv1.AutomationService_ReadAutomations_FullMethodName:                &orchv1.AutomationList{Automations: []*orchv1.Automation{automation}},
		orchv1.AutomationService_ReadAutomationHistory_FullMethodName:          &orchv1.AutomationHistory{Firings: []*orchv1.AutomationHistoryFiring{{EventId: someID, Triggered: at(time.Minute), TriggeringEventId: proto.String(someID)}}},
		orchv1.ArtifactService_ReadArtifact_FullMethodName:                     artifact,
		orchv1.ArtifactService_ReadLatestArtifacts_FullMethodName:              &orchv1.ArtifactCollectionList{Artifacts: []*orchv1.ArtifactCollection{{Id: someID, LatestId: someID, Key: "report", Type: proto.String("markdown"), Updated: at(time.Minute)}}},
		orchv1.VariableService_ReadVariable_FullMethodName:                     variable,
		orchv1.DestinationService_ReadDestination_FullMethodName:               destination,
		orchv1.DestinationService_ReadDestinations_FullMethodName:              &orchv1.DestinationList{Destinations: []*orchv1.Destination{destination}},
		orchv1.DestinationService_ReadDestinationDeliveries_FullMethodName:     &orchv1.DestinationDeliveryList{Deliveries: []*orchv1.DestinationDelivery{toDestination}},
		orchv1.DestinationService_ReadDestinationDelivery_FullMethodName:       toDestination,
		orchv1.DestinationService_CreateDestination_FullMethodName:             destination,
		orchv1.DestinationService_UpdateDestination_FullMethodName:             &emptypb.Empty{},
		orchv1.DestinationService_DeleteDestination_FullMethodName:             &emptypb.Empty{},
		orchv1.DestinationService_ResendDestinationDeliveries_FullMethodName:   &orchv1.DestinationResend{Resent: 1},
		orchv1.VariableService_ReadVariables_FullMethodName:                    &orchv1.VariableList{Variables: []*orchv1.Variable{variable}},
		orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName:           block,
		orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName:          &orchv1.BlockDocumentList{BlockDocuments: []*orchv1.BlockDocument{block}},
		orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName: limit,
		orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitSlots_FullMethodName: &orchv1.ConcurrencyLimitSlots{
			Limit: 4, ActiveSlots: 6, SlotsWithoutLease: 5, HolderCount: 1, WaiterCount: 2,
			Holders: []*orchv1.ConcurrencySlotHolder{{
				LeaseId: someID, Slots: 1, Since: at(time.Hour), Expires: at(-time.Hour),
				Holder: &orchv1.ConcurrencyLeaseHolder{Type: orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_FLOW_RUN, Id: someID},
			}},
			Waiters: []*orchv1.ConcurrencySlotWaiter{
				{Slots: 1, Since: at(time.Minute), Due: at(-time.Minute), Holder: &orchv1.ConcurrencyLeaseHolder{
					Type: orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_TASK_RUN, Id: someID,
				}},
				{Slots: 2, Since: at(time.Second), Due: at(-time.Second)},
			},
		},
		orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName: &orchv1.GlobalConcurrencyLimitList{Limits: []*orchv1.DeploymentConcurrencyLimit{limit}},
		orchv1.VariableService_CreateVariable_FullMethodName:                       variable,
		orchv1.VariableService_UpdateVariable_FullMethodName:                       &emptypb.Empty{},
		orchv1.VariableService_DeleteVariable_FullMethodName:                       &emptypb.Empty{},
		orchv1.BlockTypeService_ReadBlockTypes_FullMethodName:                      &orchv1.BlockTypeList{BlockTypes: []*orchv1.BlockType{blockType}},
		orchv1.BlockTypeService_ReadBlockTypeBySlug_FullMethodName:                 blockType,
		orchv1.BlockSchemaService_ReadBlockSchemas_FullMethodName:                  &orchv1.BlockSchemaList{BlockSchemas: []*orchv1.BlockSchema{block.GetBlockSchema()}},
		orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName:             block,
		orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName:             &emptypb.Empty{},
		orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName:             &emptypb.Empty{},
		orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName:   rpc.Detail(http.StatusConflict, "A limit has the name already."),
		orchv1.ConcurrencyLimitV2Service_UpdateConcurrencyLimitV2_FullMethodName:   &emptypb.Empty{},
		orchv1.CollectionService_ReadWorkPoolTypes_FullMethodName:                  &orchv1.CollectionView{Content: []byte(`{"prefect": {"process": {}}, "prefect-docker": {"docker": {}}}`)},
		orchv1.WorkPoolService_CreateWorkPool_FullMethodName:                       pool,
		orchv1.WorkPoolService_UpdateWorkPool_FullMethodName:                       &emptypb.Empty{},
		orchv1.WorkPoolService_CreateWorkPoolQueue_FullMethodName:                  &orchv1.WorkQueue{Id: someID},
		orchv1.WorkPoolService_ReadWorkPoolQueue_FullMethodName:                    &orchv1.WorkQueue{Id: someID, Name: "default", Priority: 1, WorkPoolName: proto.String("kubernetes"), Updated: at(time.Hour)},
		orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName:                  &emptypb.Empty{},
		orchv1.WorkPoolService_DeleteWorker_FullMethodName:                         &emptypb.Empty{},
		orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName:          &orchv1.DeploymentScheduleList{},
		orchv1.DeploymentService_UpdateDeployment_FullMethodName:                   &emptypb.Empty{},
		orchv1.FlowService_UpdateFlow_FullMethodName:                               &emptypb.Empty{},
		orchv1.DeadLetterService_ReadDeadLetters_FullMethodName: &orchv1.DeadLetterList{DeadLetters: []*orchv1.DeadLetter{
			{Id: someID, Source: orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_OUTBOX, Kind: "call-webhook", Reason: "post to \"a\": 410 Gone " + hostile, Blocking: true, Failed: at(time.Hour)},
			{Id: "0193ffff-0000-7000-8000-000000000001", Source: orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_OUTBOX, Kind: "call-webhook", Reason: "post to \"b\": 404 Gone " + hostile, Failed: at(time.Minute)},
			{Id: "7", Source: orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_BROKER, Kind: "persist", Reason: "the frame is damaged", Failed: at(2 * time.Hour)},
		}},
		orchv1.DeadLetterService_RetryDeadLetter_FullMethodName:             rpc.Detail(http.StatusConflict, "It failed again: the frame is damaged."),
		orchv1.DeadLetterService_DiscardDeadLetter_FullMethodName:           &emptypb.Empty{},
		orchv1.ConcurrencyLimitService_ReadConcurrencyLimits_FullMethodName: &orchv1.ConcurrencyLimitList{Limits: []*orchv1.ConcurrencyLimit{{Id: someID, Tag: "db", ConcurrencyLimit: 2}}},
	})
	return all
}

// objectCases are the pages of flows, deployments and what they use.
func objectCases() []pageCase {
	const (
		deployment      = "/deployments/deployment/" + someID
		variable        = "/variables/variable/" + someID
		destinationPath = "/destinations/destination/" + someID
		pool            = "/work-pools/work-pool/kubernetes"
		updated         = "2030-01-31T11:00:00Z"
	)
	cases := []pageCase{
		{name: "flows", path: "/flows?q=night"},
		{name: "flow", path: "/flows/flow/" + someID},
		{name: "deployments", path: "/deployments"},
		{name: "deployment", path: deployment},
		{name: "runs-upcoming", path: "/runs/upcoming?deployment=" + someID},
		{name: "deployment-schedule", path: deployment, status: 303, form: url.Values{"action": {"switch-schedule"}, "schedule": {someID}, "active": {"no"}}},
		{name: "deployment-no-schedule", path: deployment, status: 404, form: url.Values{"action": {"switch-schedule"}, "schedule": {"x"}}},
		{name: "deployment-run", path: deployment + "/run?tz=Europe/Vienna&like=" + someID},
		{name: "deployment-run-bad", path: deployment + "/run", status: 422, form: url.Values{"action": {"run-deployment"}, "p.limit": {"ten"}, "p.mode": {`"full"`}, "p.tables": {"[1"}, "name": {hostile}}},
		{name: "deployment-run-entry", path: deployment + "/run", form: url.Values{
			"action": {"run-deployment"}, "p.limit": {"ten"}, "p.hosts/#": {"1"}, "p.hosts/0/name": {hostile}, "p.hosts/0/ports/#": {"1"}, "p.hosts/0/ports/0": {"x"}, "add-entry": {"p.hosts"},
		}},
		{name: "work-pools", path: "/work-pools"},
		{name: "work-pool", path: "/work-pools/work-pool/kubernetes"},
		{name: "work-pool-idle", path: "/work-pools/work-pool/kubernetes", prefect: true},
		{name: "worker", path: "/work-pools/work-pool/kubernetes/worker/" + someID},
		{name: "automations", path: "/automations"},
		{name: "automation", path: "/automations/automation/" + someID},
		{name: "automation-edit", path: "/automations/automation/" + someID + "/edit"},
		{name: "automation-edit-bad", path: "/automations/automation/" + someID + "/edit", status: 422, form: url.Values{"action": {"automation-edit"}, "json": {"[" + hostile}}},
		{name: "automation-delete", path: "/automations/automation/" + someID, form: url.Values{"action": {"delete-automation"}}},
		{name: "artifacts", path: "/artifacts"},
		{name: "artifact", path: "/artifacts/artifact/" + someID},
		{name: "destinations", path: "/destinations"},
		{name: "destination", path: destinationPath},
		{name: "destination-delivery", path: destinationPath + "/delivery/" + someID},
		{name: "destination-create", path: "/destinations", status: 303, form: destinationForm("destination-create", nil)},
		{name: "destination-bad", path: "/destinations", status: 422, form: destinationForm("destination-create", url.Values{"subscriptions": {"["}, "retry_for": {"x"}, "headers": {"no colon"}})},
		{name: "destination-edit", path: destinationPath, status: 303, form: destinationForm("destination-edit", url.Values{"updated": {updated}})},
		{name: "destination-connection", path: destinationPath, status: 422, form: destinationForm("destination-edit", url.Values{
			"updated": {updated}, "oauth": {"https://other.example.com/token"}, "tls": {"-----BEGIN CERTIFICATE-----"},
		})},
		{name: "destination-conflict", path: destinationPath, status: 409, form: destinationForm("destination-edit", url.Values{"updated": {"2030-01-01T00:00:00Z"}})},
		{name: "destination-disable", path: destinationPath, status: 303, form: url.Values{"action": {"destination-disable"}}},
		{name: "destination-resend", path: destinationPath, status: 303, form: url.Values{"action": {"destination-resend"}}},
		{name: "destination-delete", path: destinationPath, form: url.Values{"action": {"destination-delete"}}},
		{name: "delivery-resend", path: destinationPath + "/delivery/" + someID, status: 303, form: url.Values{"action": {"delivery-resend"}}},
		{name: "variables", path: "/variables"},
		{name: "variable", path: "/variables/variable/" + someID},
		{name: "blocks", path: "/blocks"},
		{name: "block", path: "/blocks/block/" + someID},
		{name: "concurrency-limits", path: "/concurrency-limits"},
		{name: "concurrency-limit", path: "/concurrency-limits/concurrency-limit/" + someID},
		{name: "variable-create", path: "/variables", status: 303, form: url.Values{"action": {"variable-create"}, "name": {"x"}, "value": {"1"}}},
		{name: "variable-edit", path: variable, status: 303, form: url.Values{"action": {"variable-edit"}, "name": {"region"}, "value": {"eu"}, "updated": {updated}}},
		{name: "variable-conflict", path: variable, status: 409, form: url.Values{"action": {"variable-edit"}, "name": {"region"}, "value": {hostile}, "updated": {"2030-01-01T00:00:00Z"}}},
		{name: "variable-delete", path: variable, form: url.Values{"action": {"variable-delete"}}},
		{name: "block-new", path: "/blocks/new"},
		{name: "block-new-type", path: "/blocks/new?type=sql"},
		{name: "block-new-bad", path: "/blocks/new?type=sql", status: 422, form: url.Values{"action": {"block-create"}, "name": {hostile}, "p.options": {"[1"}}},
		{name: "block-create", path: "/blocks/new?type=sql", status: 303, form: url.Values{"action": {"block-create"}, "name": {"w"}, "p.host": {"db"}, "p.password": {"s"}}},
		{name: "block-edit", path: "/blocks/block/" + someID + "/edit"},
		{name: "block-edited", path: "/blocks/block/" + someID + "/edit", status: 303, form: url.Values{"action": {"block-edit"}, "p.host": {"db"}, "updated": {updated}}},
		{name: "block-conflict", path: "/blocks/block/" + someID + "/edit", status: 422, form: url.Values{"action": {"block-edit"}, "p.host": {"db2"}, "updated": {"2030-01-01T00:00:00Z"}}},
		{name: "block-delete", path: "/blocks/block/" + someID, form: url.Values{"action": {"block-delete"}}},
		{name: "limit-taken", path: "/concurrency-limits", status: 409, form: url.Values{"action": {"limit-create"}, "name": {"warehouse"}, "limit": {"3"}}},
		{name: "limit-bad", path: "/concurrency-limits", status: 422, form: url.Values{"action": {"limit-create"}, "name": {"warehouse"}, "limit": {"many"}}},
		{name: "limit-edit", path: "/concurrency-limits/concurrency-limit/" + someID, status: 303, form: url.Values{"action": {"limit-edit"}, "name": {"warehouse"}, "limit": {"3"}}},
		{name: "limit-delete", path: "/concurrency-limits/concurrency-limit/" + someID, form: url.Values{"action": {"limit-delete"}}},
		{name: "pool-create", path: "/work-pools", status: 303, form: url.Values{"action": {"pool-create"}, "name": {"kubernetes"}, "type": {"process"}}},
		{name: "pool-bad", path: pool, status: 422, form: url.Values{"action": {"pool-edit"}, "concurrency_limit": {"many"}, "base_job_template": {"{"}}},
		{name: "pool-edit", path: pool, status: 303, form: url.Values{"action": {"pool-edit"}, "concurrency_limit": {"3"}}},
		{name: "pool-delete", path: pool, form: url.Values{"action": {"pool-delete"}}},
		{name: "queue-create", path: pool, status: 303, form: url.Values{"action": {"queue-create"}, "name": {"urgent"}, "priority": {"1"}}},
		{name: "queue-pause", path: pool, status: 303, form: url.Values{"action": {"pause-queue"}, "queue": {"default"}}},
		{name: "worker-remove", path: pool, status: 303, form: url.Values{"action": {"worker-remove"}, "worker": {"w"}}},
		{name: "queue", path: pool + "/queue/default"},
		{name: "queue-edit", path: pool + "/queue/default", status: 303, form: url.Values{"action": {"queue-edit"}, "priority": {"2"}, "updated": {updated}}},
		{name: "queue-delete", path: pool + "/queue/default", form: url.Values{"action": {"queue-delete"}}},
		{name: "schedule-create", path: deployment, status: 303, form: url.Values{"action": {"schedule-create"}, "kind": {"cron"}, "rule": {"0 6 * * *"}, "timezone": {"UTC"}}},
		{name: "schedule-create-bad", path: deployment, status: 422, form: url.Values{"action": {"schedule-create"}, "kind": {"interval"}, "rule": {"often"}, "timezone": {"UTC"}}},
		{name: "backfill-create", path: deployment, status: 303, form: url.Values{
			"action": {"backfill-create"}, "schedule_id": {someID}, "start_time": {"2026-01-01T00:00"}, "end_time": {"2026-02-01T00:00"}, "max_parallel_runs": {"4"},
		}},
		{name: "backfill-create-bad", path: deployment, status: 422, form: url.Values{
			"action": {"backfill-create"}, "schedule_id": {someID}, "start_time": {"yesterday"}, "end_time": {"2026-02-01T00:00"}, "max_parallel_runs": {"all"}, "parameters": {"[]"},
		}},
		{name: "backfill-pause", path: deployment, status: 303, form: url.Values{"action": {"backfill-pause"}, "backfill": {someID}}},
		{name: "backfill-unknown", path: deployment, status: 404, form: url.Values{"action": {"backfill-cancel"}, "backfill": {"x"}}},
		{name: "schedule", path: deployment + "/schedule/" + someID},
		{name: "schedule-edit", path: deployment + "/schedule/" + someID, status: 303, form: url.Values{"action": {"schedule-edit"}, "kind": {"cron"}, "rule": {"0 6 * * *"}, "timezone": {"UTC"}, "active": {"yes"}}},
		{name: "schedule-delete", path: deployment + "/schedule/" + someID, form: url.Values{"action": {"schedule-delete"}}},
		{name: "deployment-edit", path: deployment, status: 303, form: url.Values{"action": {"deployment-edit"}, "tags": {"a, b"}, "concurrency_limit": {"2"}, "collision_strategy": {"ENQUEUE"}}},
		{name: "deployment-edit-bad", path: deployment, status: 422, form: url.Values{"action": {"deployment-edit"}, "parameters": {"[]"}, "concurrency_limit": {"x"}}},
		{name: "flow-edit", path: "/flows/flow/" + someID, status: 303, form: url.Values{"action": {"flow-edit"}, "tags": {"a"}}},
		{name: "flow-delete", path: "/flows/flow/" + someID, form: url.Values{"action": {"flow-delete"}}},
		{name: "dead-letters", path: "/dead-letters"},
		{name: "dead-letters-retry", path: "/dead-letters", status: 409, form: url.Values{"action": {"dead-letters-retry"}, "kind": {"persist"}, "cause": {"the frame is damaged"}}},
		{name: "dead-letters-gone", path: "/dead-letters", status: 303, form: url.Values{"action": {"dead-letters-retry"}, "kind": {"persist"}, "cause": {"x"}}},
		{name: "dead-letters-discard", path: "/dead-letters", form: url.Values{"action": {"dead-letters-discard"}, "kind": {"persist"}, "cause": {"the frame is damaged"}}},
		{name: "dead-letters-discarded", path: "/dead-letters", status: 303, form: url.Values{
			"action": {"dead-letters-discard"}, "confirm": {"yes"}, "kind": {"persist"}, "cause": {"the frame is damaged"},
		}},
		{name: "work-queue", path: "/work-queues/work-queue/" + someID, status: 303},
	}
	for i := range cases {
		cases[i].answers = objectAnswers()
	}
	return cases
}

// destinationForm is a form of a destination with changes.
func destinationForm(action string, changes url.Values) url.Values {
	form := url.Values{
		"action": {action}, "name": {"warehouse"}, "url": {"https://warehouse.example.com/***"}, "subscriptions": {`[{"events": ["order.*"]}]`},
		"retry_for": {"604800"}, "rate_limit": {"50"}, "headers": {"X-Tenant: a"}, "secret": {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"oauth": {""}, "oauth_client_id": {""}, "oauth_client_secret": {""}, "oauth_scopes": {""}, "tls": {""}, "tls_key": {""}, "tls_ca": {""}, "proxy": {""},
	}
	maps.Copy(form, changes)
	return form
}
