package query

import "slices"

// Collection is the name of a collection.
type Collection string

// The collections.
const (
	Flow         Collection = "flow"
	FlowRun      Collection = "flow_run"
	FlowRunState Collection = "flow_run_state"
	FlowRunInput Collection = "flow_run_input"
	TaskRun      Collection = "task_run"
	TaskRunState Collection = "task_run_state"
	TaskRunCache Collection = "task_run_cache"
	// TaskWorker stores the connected task workers.
	TaskWorker Collection = "task_worker"
	Deployment Collection = "deployment"
	// Backfill stores the backfills of schedules.
	Backfill  Collection = "backfill"
	WorkPool  Collection = "work_pool"
	WorkQueue Collection = "work_queue"
	// Worker stores the workers of work pools.
	Worker  Collection = "worker"
	Webhook Collection = "webhook"
	// DeadLetter stores the effects that failed permanently.
	DeadLetter Collection = "dead_letter"
	// WebhookDelivery stores the delivery log of webhooks.
	WebhookDelivery Collection = "webhook_delivery"
	// WebhookSample stores the requests that users keep under a name.
	WebhookSample Collection = "webhook_sample"
	// Destination stores the addresses that receive events, and DestinationDelivery the events, calls and
	// notifications on their way to them.
	Destination         Collection = "destination"
	DestinationDelivery Collection = "destination_delivery"
	// WebhookWatch stores what the watcher of failures counted of each webhook.
	WebhookWatch Collection = "webhook_watch"
	Event        Collection = "event"
	// EventType stores the names of events with their schemas.
	EventType Collection = "event_type"
	Log       Collection = "log"
	Artifact  Collection = "artifact"
	// ArtifactLatest stores the latest artifact of each key.
	ArtifactLatest Collection = "artifact_latest"
	Variable       Collection = "variable"
	SavedSearch    Collection = "saved_search"
	// Asset stores what flows materialize or reference.
	Asset         Collection = "asset"
	BlockType     Collection = "block_type"
	BlockSchema   Collection = "block_schema"
	BlockDocument Collection = "block_document"
	Automation    Collection = "automation"
	// AutomationBucket stores the event counts of triggers.
	AutomationBucket Collection = "automation_bucket"
	// AutomationHold stores events that are evaluated later.
	AutomationHold Collection = "automation_hold"
	// AutomationAction stores the action runs that firings cause.
	AutomationAction Collection = "automation_action"
	// AutomationKey stores what debounce, batch and singleton of actions keep for their keys.
	AutomationKey Collection = "automation_key"
	// CleanupJob stores infrastructure of cancelled runs that workers must remove.
	CleanupJob Collection = "cleanup_job"
	// Configuration stores the settings that administrators change, one document of each kind per workspace.
	Configuration Collection = "configuration"
	// RetentionPolicy stores the retention rules of workspaces, one document per workspace.
	RetentionPolicy Collection = "retention_policy"
	// RunTimeouts stores the timeouts of flow runs, one document per workspace.
	RunTimeouts Collection = "run_timeouts"

	// AccountUsage stores what was measured of accounts, one document per account.
	AccountUsage Collection = "account_usage"

	// Account and the collections below belong to the hosted form. The server owns accounts and users; an account owns
	// everything else, and a workspace owns its access list.
	Account         Collection = "account"
	Workspace       Collection = "workspace"
	User            Collection = "user"
	Membership      Collection = "account_membership"
	ServiceAccount  Collection = "service_account"
	WorkspaceRole   Collection = "workspace_role"
	WorkspaceAccess Collection = "workspace_access"
	Team            Collection = "team"

	ConcurrencyLimit Collection = "concurrency_limit"
	ConcurrencyLease Collection = "concurrency_lease"
)

// Collections lists all collections that have indexes. These are exactly the collections that hold documents of
// workspaces.
func Collections() []Collection {
	var all []Collection
	for _, index := range Indexes() {
		if !slices.Contains(all, index.Collection) {
			all = append(all, index.Collection)
		}
	}
	return all
}

// queryFields maps the filter fields of query messages to the collections that they filter.
var queryFields = map[string]Collection{
	"flows": Flow, "flow_runs": FlowRun, "task_runs": TaskRun, "deployments": Deployment,
	"work_pools": WorkPool, "work_pool_queues": WorkQueue, "work_queues": WorkQueue, "webhooks": Webhook, "deliveries": WebhookDelivery,
	"artifacts": Artifact, "variables": Variable, "logs": Log,
	"block_types": BlockType, "block_schemas": BlockSchema, "block_documents": BlockDocument,
	"automations": Automation,
	"event_types": EventType, "destinations": Destination, "destination_deliveries": DestinationDelivery,
}

// FieldCollection returns the collection that a field of a query message filters. Artifact keys are filtered by their
// latest artifacts, in the same field as artifacts.
func FieldCollection(own Collection, field string) (Collection, bool) {
	c, ok := queryFields[field]
	if c == Artifact && own == ArtifactLatest {
		return own, ok
	}
	return c, ok
}

// relation relates a document of from to a document of to if the field local of the first equals the field foreign of
// the second.
type relation struct {
	from    Collection
	local   string
	to      Collection
	foreign string
}

// The relations. References to other documents never change, except a run's work queue.
var (
	flowRuns        = relation{Flow, "_id", FlowRun, "flow_id"}
	flowDeployments = relation{Flow, "_id", Deployment, "flow_id"}
	runFlow         = relation{FlowRun, "flow_id", Flow, "_id"}
	runDeployment   = relation{FlowRun, "deployment_id", Deployment, "_id"}
	runTaskRuns     = relation{FlowRun, "_id", TaskRun, "flow_run_id"}
	runWorkQueue    = relation{FlowRun, "work_queue_id", WorkQueue, "_id"}
	runParentTask   = relation{FlowRun, "parent_task_run_id", TaskRun, "_id"}
	taskFlowRun     = relation{TaskRun, "flow_run_id", FlowRun, "_id"}
	taskFlow        = relation{TaskRun, "flow_id", Flow, "_id"}
	taskDeployment  = relation{TaskRun, "deployment_id", Deployment, "_id"}
	taskSubflowRun  = relation{TaskRun, "_id", FlowRun, "parent_task_run_id"}
	flowTaskRuns    = relation{Flow, "_id", TaskRun, "flow_id"}
	deploymentFlow  = relation{Deployment, "flow_id", Flow, "_id"}
	// deploymentTaskRuns and flowTaskRuns skip the flow run of the task run.
	deploymentTaskRuns = relation{Deployment, "_id", TaskRun, "deployment_id"}
	deploymentRuns     = relation{Deployment, "_id", FlowRun, "deployment_id"}
	deploymentQueue    = relation{Deployment, "work_queue_id", WorkQueue, "_id"}
	queuePool          = relation{WorkQueue, "work_pool_id", WorkPool, "_id"}
	artifactRun        = relation{Artifact, "flow_run_id", FlowRun, "_id"}
	artifactTask       = relation{Artifact, "task_run_id", TaskRun, "_id"}
	latestRun          = relation{ArtifactLatest, "flow_run_id", FlowRun, "_id"}
	latestTask         = relation{ArtifactLatest, "task_run_id", TaskRun, "_id"}
	typeSchemas        = relation{BlockType, "_id", BlockSchema, "block_type_id"}
	blockType          = relation{BlockDocument, "block_type_id", BlockType, "_id"}
	blockSchema        = relation{BlockDocument, "block_schema_id", BlockSchema, "_id"}
	allRelations       = []relation{
		flowRuns, flowDeployments, runFlow, runDeployment, runTaskRuns, runWorkQueue, runParentTask, taskFlowRun,
		taskFlow, taskDeployment, taskSubflowRun, deploymentFlow, deploymentRuns, deploymentQueue, queuePool,
		artifactRun, artifactTask, latestRun, latestTask,
		typeSchemas, blockType, blockSchema, flowTaskRuns, deploymentTaskRuns,
	}
)

// routes are the relations from a collection to each collection that its queries may filter by. Routes with a common
// prefix share the documents on that prefix.
var routes = map[Collection]map[Collection][]relation{
	Flow: {
		FlowRun: {flowRuns}, TaskRun: {flowRuns, runTaskRuns},
		Deployment: {flowDeployments}, WorkQueue: {flowDeployments, deploymentQueue},
		WorkPool: {flowDeployments, deploymentQueue, queuePool},
	},
	FlowRun: {
		Flow: {runFlow}, TaskRun: {runTaskRuns}, Deployment: {runDeployment},
		WorkQueue: {runWorkQueue}, WorkPool: {runWorkQueue, queuePool},
	},
	TaskRun: {
		FlowRun: {taskFlowRun}, Flow: {taskFlow}, Deployment: {taskDeployment},
		WorkQueue: {taskFlowRun, runWorkQueue}, WorkPool: {taskFlowRun, runWorkQueue, queuePool},
	},
	Deployment: {
		Flow: {deploymentFlow}, FlowRun: {deploymentRuns}, TaskRun: {deploymentRuns, runTaskRuns},
		WorkQueue: {deploymentQueue}, WorkPool: {deploymentQueue, queuePool},
	},
	WorkQueue:     {WorkPool: {queuePool}},
	BlockType:     {BlockSchema: {typeSchemas}},
	BlockDocument: {BlockType: {blockType}, BlockSchema: {blockSchema}},
	Artifact: {
		FlowRun: {artifactRun}, TaskRun: {artifactTask}, Flow: {artifactRun, runFlow}, Deployment: {artifactRun, runDeployment},
	},
	ArtifactLatest: {
		FlowRun: {latestRun}, TaskRun: {latestTask}, Flow: {latestRun, runFlow}, Deployment: {latestRun, runDeployment},
	},
}
