package query

import "go.mongodb.org/mongo-driver/v2/bson"

// Index is an index that a collection must have.
type Index struct {
	Collection Collection
	Keys       bson.D
	Unique     bool
	// Partial is the filter of the documents that the index covers; nil = all.
	Partial bson.D
	// Sparse excludes documents without the fields.
	Sparse bool
	// TTL removes a document at the date in its only key.
	TTL bool
	// For names the queries that need the index.
	For string
}

// CoversWorkspaces reports whether the index has all documents of a workspace.
func (i Index) CoversWorkspaces() bool {
	return i.Keys[0].Key == workspaceKey && i.Partial == nil && !i.Sparse
}

// Indexes returns the indexes of filters, sorts, relations and background work. Each starts with the workspace, except
// where a query spans workspaces. The slugs of webhooks are unique across all workspaces.
//
// Some sorts have no index that also covers the filter's field. Then the sort's index serves the query and the filter
// is tested for each document. So a filter lacks an index only if it rarely comes without a selective one.
func Indexes() []Index { return withRetries(indexes()) }

// The index of the outboxes with effects. Outboxes without a recorded failure come first, by the times of their effects, so the
// sweeper does not step over failed ones.
var (
	outboxKeys    = keys("outbox_next_at", "outbox.at")
	outboxPartial = bson.D{{Key: "outbox.at", Value: bson.D{{Key: "$exists", Value: true}}}}
)

// hasOutbox reports whether an index is that of outboxes.
func (i Index) hasOutbox() bool { return i.Keys[len(i.Keys)-1].Key == "outbox.at" }

// withRetries adds the index of recorded failures to each collection whose documents have an outbox.
func withRetries(all []Index) []Index {
	for _, index := range all {
		if index.hasOutbox() {
			all = append(all, Index{Collection: index.Collection, Keys: keys("outbox_next_at"), Sparse: true, For: "relay's sweeper: effects that failed"})
		}
	}
	return all
}

func indexes() []Index {
	return []Index{
		{Collection: Flow, Keys: scoped("name"), Unique: true, For: "one flow per name; NAME_*; name.any_; read by name"},
		{Collection: Flow, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: Flow, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: Flow, Keys: scoped("tags"), For: "tags"},
		{Collection: Flow, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: FlowRun, Keys: scoped("_id"), For: "ID_DESC; id"},
		{
			Collection: FlowRun, Keys: scoped("sort_start", "_id", "name", "flow_version", "expected_start_time"),
			For: "START_TIME_*; history. What follows the id is only tested: a page of what a filter lets through reads no other runs",
		},
		{
			Collection: FlowRun, Keys: byStart(), Partial: bson.D{{Key: "start_time", Value: nil}},
			For: "start_time.is_null_ by START_TIME_*",
		},
		{Collection: FlowRun, Keys: byStart("state.type"), For: "state.type by START_TIME_*"},
		{
			Collection: FlowRun, Keys: FlowRunsByStateAndTime,
			For: "counts of each state.type in a window of time; state.type by EXPECTED_START_TIME_*, the deployment tested; the scatter; flows and deployments by states and times of their runs",
		},
		{
			Collection: FlowRun, Keys: scoped("state.type", "flow_id", "deployment_id", "work_queue_name"),
			For: "flows and deployments by states, deployments and queues of their runs: one key for each combination is read. It changes with the state in any case",
		},
		{Collection: FlowRun, Keys: byStart("state.name"), For: "state.name by START_TIME_*"},
		{Collection: FlowRun, Keys: byStart("flow_id"), For: "runs of flows, and flows by their runs"},
		{Collection: FlowRun, Keys: byStart("deployment_id"), For: "deployment_id; deployments by their runs"},
		{
			Collection: FlowRun, Keys: FlowRunsByQueue, Partial: present("work_queue_id"),
			For: "what a worker asks for; slots of queues and pools",
		},
		{
			Collection: FlowRun, Keys: FlowRunsByRank, Partial: present("next_scheduled_start_time"),
			For: "deployments with due runs in a queue, and the first runs of each; only scheduled runs have a key, those of earlier versions without a rank first",
		},
		{
			Collection: FlowRun, Keys: FlowRunsByDeployment, Partial: present("next_scheduled_start_time"),
			For: "runs that wait for the processes that serve deployments, by rank; only scheduled runs have a key",
		},
		{
			Collection: FlowRun, Keys: FlowRunsWithWeight, Partial: append(present("next_scheduled_start_time"), present("weight")...),
			For: "whether weights order the due runs of deployments; runs without a weight have no key",
		},
		{
			Collection: FlowRun, Keys: byStart("work_queue_id"), Partial: present("work_queue_id"),
			For: "runs by work queue and pool",
		},
		{
			Collection: FlowRun, Keys: byStart("work_queue_name"), Partial: present("work_queue_name"),
			For: "work_queue_name",
		},
		{
			Collection: FlowRun, Keys: scoped("parent_task_run_id"), Partial: present("parent_task_run_id"),
			For: "subflows of a run; task runs with a subflow",
		},
		{
			Collection: FlowRun, Keys: byStart("created_by.id"), Partial: present("created_by"),
			For: "runs that a schedule or an automation created; other runs have no key",
		},
		{
			Collection: FlowRun, Keys: scoped("flow_version", "flow_id", "_id"), Partial: present("flow_version"),
			For: "counts of flow_version, runs of a rare one, and flows by versions of their runs; a change of state does not write it",
		},
		{Collection: FlowRun, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{
			Collection: FlowRun, Keys: scoped("expected_start_time", "_id", "deployment_id", "flow_id", "work_queue_id"),
			For: "EXPECTED_START_TIME_*; expected_start_time; what runs belong to is tested",
		},
		{
			Collection: FlowRun, Keys: scoped("next_scheduled_start_time", "_id"),
			For: "NEXT_SCHEDULED_START_TIME_ASC; next_scheduled_start_time",
		},
		{Collection: FlowRun, Keys: scoped("end_time", "_id"), For: "END_TIME_DESC; end_time"},
		{Collection: FlowRun, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: FlowRun, Keys: byStart("tags"), For: "tags"},
		{
			Collection: FlowRun, Keys: scoped("idempotency_key", "flow_id"), Unique: true, Partial: present("idempotency_key"),
			For: "one run per flow and idempotency key; idempotency_key",
		},
		{
			Collection: FlowRun, Keys: keys("state.type", "state.timestamp", "_id"),
			Partial: oneOf("state.type", "PENDING", "RUNNING", "PAUSED", "CANCELLING", "CANCELLED"),
			For:     "pending, running, paused, cancelling and cancelled runs of all workspaces: they time out; scheduled runs and those that ended otherwise have no key",
		},
		{
			Collection: FlowRun, Keys: keys("state.name", "next_scheduled_start_time"), Partial: present("next_scheduled_start_time"),
			For: "runs that are late, of all workspaces",
		},
		{
			Collection: FlowRun, Keys: keys("start_deadline"), Partial: present("start_deadline"),
			For: "scheduled runs that are skipped when they are too late, of all workspaces; other runs have no key",
		},
		{
			Collection: FlowRun, Keys: keys("state.type", "parent_task_run_id"), Partial: present("parent_task_run_id"),
			For: "unfinished subflows of all workspaces",
		},
		{Collection: FlowRun, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper; a state whose row of the history is not written yet"},

		{
			Collection: FlowRunState, Keys: scoped("flow_run_id", "run_revision"), Unique: true,
			For: "one state per revision of a run",
		},
		{Collection: FlowRunState, Keys: ObservedStates, For: "observed states"},

		{Collection: FlowRunInput, Keys: scoped("flow_run_id", "key"), Unique: true, For: "one input per run and key; by prefix"},

		{Collection: TaskRun, Keys: scoped("_id"), For: "ID_DESC; id"},
		{
			Collection: TaskRun, Keys: scoped("flow_run_id", "task_key", "dynamic_key"), Unique: true,
			For: "one run per flow run, task and dynamic key, and one per task and dynamic key outside of flow runs",
		},
		{Collection: TaskRun, Keys: scoped("flow_run_id", "_id"), For: "task runs of runs by ID_DESC, and runs by their task runs"},
		{Collection: TaskRun, Keys: scoped("flow_run_id", "state.type", "_id"), For: "task runs of a run in a state: what is to be cancelled with it"},
		{Collection: TaskRun, Keys: scoped("flow_id", "_id"), For: "task runs by flow"},
		{Collection: TaskRun, Keys: scoped("deployment_id", "_id"), Partial: present("deployment_id"), For: "task runs by deployment"},
		{Collection: TaskRun, Keys: scoped("state.type", "_id"), For: "state.type by ID_DESC"},
		{Collection: TaskRun, Keys: scoped("state.name", "_id"), For: "state.name by ID_DESC"},
		{Collection: TaskRun, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{Collection: TaskRun, Keys: scoped("expected_start_time", "_id"), For: "EXPECTED_START_TIME_*; expected_start_time; history"},
		{Collection: TaskRun, Keys: scoped("next_scheduled_start_time", "_id"), For: "NEXT_SCHEDULED_START_TIME_ASC"},
		{Collection: TaskRun, Keys: scoped("end_time", "_id"), For: "END_TIME_DESC; end_time"},
		{Collection: TaskRun, Keys: scoped("start_time", "_id"), For: "start_time"},
		{Collection: TaskRun, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: TaskRun, Keys: scoped("tags", "_id"), For: "tags"},
		{
			Collection: TaskRun, Keys: scoped("task_key", "offer_at", "_id"), Partial: present("offer_at"),
			For: "deferred runs that wait for a task worker",
		},
		{Collection: TaskRun, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper; a state whose row of the history is not written yet"},

		{Collection: TaskRunState, Keys: scoped("task_run_id", "timestamp", "_id"), For: "a run's history, oldest first"},
		{Collection: TaskRunState, Keys: ObservedStates, For: "observed states"},

		{Collection: TaskWorker, Keys: scoped("identifier", "_id"), For: "connected workers"},

		{Collection: TaskRunCache, Keys: scoped("cache_key", "timestamp", "_id"), For: "the newest state under a key"},
		{Collection: TaskRunCache, Keys: keys("expire_at"), TTL: true, For: "states that no longer hold"},

		{Collection: Event, Keys: scoped("occurred", "_id"), For: "newest and oldest first"},
		{Collection: Event, Keys: EventsByName, For: "event.name, event.prefix"},
		{Collection: Event, Keys: EventsByResource, For: "resource.id, resource.id_prefix"},
		{Collection: Event, Keys: EventsByAnyResource, For: "related.id, any_resource.id"},
		{Collection: Event, Keys: keys("expire_at"), TTL: true, For: "retention"},
		{Collection: EventType, Keys: scoped("name"), Unique: true, For: "one event type per name; NAME_*; name.any_"},
		{Collection: EventType, Keys: keys("expires"), Sparse: true, For: "event types without events for long, of all workspaces"},

		{Collection: DeadLetter, Keys: keys("expire_at"), Sparse: true, TTL: true, For: "retention"},

		{Collection: Log, Keys: scoped("flow_run_id", "timestamp", "_id"), For: "logs of runs by TIMESTAMP_*; the download; deleted with their run"},
		{Collection: Log, Keys: scoped("task_run_id", "timestamp", "_id"), Partial: present("task_run_id"), For: "logs of task runs by TIMESTAMP_*"},
		{Collection: Log, Keys: scoped("timestamp", "_id", "level", "name"), For: "TIMESTAMP_*; counts by level and name; what follows the id is only tested"},
		{Collection: Log, Keys: keys("expire_at"), Sparse: true, TTL: true, For: "retention"},

		{Collection: ConcurrencyLimit, Keys: scoped("name"), Unique: true, For: "one limit per name; lists by name; limits of tags"},
		{Collection: ConcurrencyLimit, Keys: scoped("holders.lease_id"), For: "renewing and ending a lease"},
		{Collection: ConcurrencyLimit, Keys: keys("holders.expires"), Sparse: true, For: "expired leases of all workspaces"},
		{Collection: ConcurrencyLimit, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: ConcurrencyLease, Keys: keys("expires"), For: "expired leases that hold nothing"},

		{Collection: Artifact, Keys: scoped("_id"), For: "ID_DESC; id"},
		{Collection: Artifact, Keys: scoped("key", "created", "_id"), For: "the newest of a key; key"},
		{Collection: Artifact, Keys: scoped("key", "_id"), For: "KEY_*"},
		{Collection: Artifact, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: Artifact, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: Artifact, Keys: scoped("flow_run_id", "_id"), For: "artifacts of runs"},
		{Collection: Artifact, Keys: scoped("task_run_id", "_id"), For: "artifacts of task runs"},
		{Collection: Artifact, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: ArtifactLatest, Keys: scoped("key"), Unique: true, For: "one document per key; KEY_*; key"},
		{Collection: ArtifactLatest, Keys: scoped("_id"), For: "ID_DESC"},
		{Collection: ArtifactLatest, Keys: scoped("latest_id"), For: "latest_id"},
		{Collection: ArtifactLatest, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: ArtifactLatest, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: ArtifactLatest, Keys: scoped("flow_run_id", "_id"), For: "keys by runs"},
		{Collection: ArtifactLatest, Keys: scoped("task_run_id", "_id"), For: "keys by task runs"},
		{Collection: ArtifactLatest, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: Variable, Keys: scoped("name"), Unique: true, For: "one variable per name; NAME_*; name.any_; read by name"},
		{Collection: Variable, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: Variable, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: Variable, Keys: scoped("tags"), For: "tags"},
		{Collection: Variable, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: SavedSearch, Keys: scoped("name"), Unique: true, For: "one search per name; listed by name"},
		{Collection: SavedSearch, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: Asset, Keys: scoped("key"), Unique: true, For: "one asset per key; listed by key"},

		{Collection: BlockType, Keys: scoped("slug"), Unique: true, For: "one type per slug; slug.any_; read by slug"},
		{Collection: BlockType, Keys: scoped("name", "_id"), For: "listed by name"},
		{Collection: BlockType, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: BlockSchema, Keys: scoped("checksum", "version"), Unique: true, For: "one schema per checksum and version; read by checksum"},
		{Collection: BlockSchema, Keys: scoped("created", "_id"), For: "listed newest first"},
		{Collection: BlockSchema, Keys: scoped("block_type_id"), For: "schemas of a type; types by their schemas"},
		{Collection: BlockSchema, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: BlockDocument, Keys: scoped("block_type_id", "name"), Unique: true, For: "one document per type and name; documents of a type"},
		{Collection: BlockDocument, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{Collection: BlockDocument, Keys: scoped("block_type_name", "name", "_id"), For: "BLOCK_TYPE_AND_NAME_ASC"},
		{Collection: BlockDocument, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: BlockDocument, Keys: scoped("block_schema_id"), For: "documents of a schema"},
		{Collection: BlockDocument, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: Automation, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{Collection: Automation, Keys: scoped("created", "_id"), For: "CREATED_DESC; created"},
		{Collection: Automation, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: Automation, Keys: scoped("tags"), For: "tags"},
		{Collection: Automation, Keys: scoped("owner_resource"), Partial: present("owner_resource"), For: "automations that a resource owns"},
		{Collection: Automation, Keys: scoped("related_resources"), For: "automations of a resource, or that run it"},
		{Collection: Automation, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: AutomationBucket, Keys: keys("due"), Sparse: true, For: "timers of proactive triggers"},
		{Collection: AutomationBucket, Keys: keys("unsettled"), Sparse: true, For: "firings that a crash left behind"},
		{Collection: AutomationBucket, Keys: keys("expires"), For: "retention of buckets"},
		{Collection: AutomationBucket, Keys: scoped("automation_id"), For: "buckets of an automation that was deleted"},
		{Collection: CleanupJob, Keys: scoped("work_pool_id", "free_at"), For: "open clean-up jobs of a pool; jobs of a deleted pool"},
		{Collection: CleanupJob, Keys: keys("expire_at"), TTL: true, For: "retention of clean-up jobs"},
		{Collection: AutomationHold, Keys: scoped("sequence"), For: "events that wait for the next turn of their workspace; held events"},
		{Collection: AutomationAction, Keys: scoped("next"), Partial: present("next"), For: "actions that are due, by workspace"},
		{Collection: AutomationAction, Keys: scoped("triggered_event_id"), For: "actions of firings in a history"},
		{Collection: AutomationAction, Keys: keys("expires"), Sparse: true, For: "retention of actions"},
		{Collection: AutomationKey, Keys: keys("due"), For: "keys of debounce, batch and singleton that are due"},
		{Collection: AutomationKey, Keys: scoped("automation_id"), For: "number of keys of an automation"},
		{Collection: AutomationKey, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: Webhook, Keys: keys("slug"), Unique: true, For: "one webhook per address; look-up by address"},
		{Collection: Webhook, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{
			Collection: Webhook, Keys: scoped("unique_name"), Unique: true, Partial: present("unique_name"),
			For: "one webhook per name where ORCH_WEBHOOK_UNIQUE_NAMES is set",
		},
		{Collection: Webhook, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: Webhook, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: Webhook, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: Webhook, Keys: keys("service_account_id"), Sparse: true, For: "webhooks of a service account that goes"},

		{Collection: WebhookDelivery, Keys: scoped("webhook_id", "received", "_id"), For: "the deliveries of a webhook by RECEIVED_*, and the oldest of them"},
		{
			Collection: WebhookDelivery, Keys: scoped("webhook_id", "refused", "received", "_id"), Partial: bson.D{{Key: "refused", Value: true}},
			For: "the oldest refused requests of a webhook; verified requests have no key",
		},
		{Collection: WebhookDelivery, Keys: keys("expire_at"), TTL: true, For: "retention"},
		{Collection: WebhookSample, Keys: scoped("webhook_id", "name"), Unique: true, For: "one sample of a webhook per name; listed by name"},
		{Collection: Destination, Keys: scoped("name"), Unique: true, For: "one destination per name; NAME_*; name.any_"},
		{Collection: Destination, Keys: scoped("block_document_id", "name"), For: "destinations with subscriptions"},
		{Collection: Destination, Keys: keys("due"), Sparse: true, For: "destinations with work, of all workspaces"},
		{Collection: Destination, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: DestinationDelivery, Keys: scoped("destination_id", "queued", "_id"), For: "the deliveries of a destination by QUEUED_*"},
		{
			Collection: DestinationDelivery, Keys: scoped("automation_id", "queued", "_id"), Partial: present("automation_id"),
			For: "the calls and notifications of an automation by QUEUED_*",
		},
		{
			Collection: DestinationDelivery, Keys: scoped("destination_id", "next_attempt", "sequence"), Partial: present("next_attempt"),
			For: "deliveries that wait, in the order of their attempts",
		},
		{
			Collection: DestinationDelivery, Keys: scoped("destination_id", "key", "sequence"), Partial: present("key"),
			For: "the first delivery of a key that waits",
		},
		{
			Collection: DestinationDelivery, Keys: scoped("destination_id", "waiting_bytes"), Partial: present("waiting_bytes"),
			For: "number and size of the deliveries that wait",
		},
		{
			Collection: DestinationDelivery, Keys: scoped("destination_id", "finished", "_id", "finished_bytes"), Partial: present("finished"),
			For: "retention of finished deliveries, the oldest of them, and their size",
		},
		{Collection: DestinationDelivery, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: WebhookWatch, Keys: keys("due"), Sparse: true, For: "webhooks that the watcher examines, of all workspaces"},
		{Collection: WebhookWatch, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: Backfill, Keys: scoped("_id"), For: "backfills, newest first"},
		{Collection: Backfill, Keys: scoped("deployment_id", "_id"), For: "backfills of a deployment, newest first"},
		{Collection: Backfill, Keys: keys("open", "ws"), Partial: present("open"), For: "backfills that have not ended, of a workspace and of all"},
		{Collection: Backfill, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: RunTimeouts, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: RetentionPolicy, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		{Collection: AccountUsage, Keys: scoped("_id"), For: "what an account uses"},
		{Collection: Account, Keys: scoped("handle"), Unique: true, For: "one account per handle; listed by handle"},
		{Collection: Account, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: Workspace, Keys: scoped("name"), Unique: true, For: "one workspace per name; listed by name"},
		{Collection: Workspace, Keys: scoped("handle"), Unique: true, For: "one workspace per handle; handle.any_"},
		{Collection: Workspace, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: User, Keys: scoped("email"), For: "users of an address, which nobody has verified: each account may have one"},
		{Collection: User, Keys: scoped("account_address"), Unique: true, Partial: present("account_address"), For: "one user per account and address"},
		{Collection: User, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: Membership, Keys: scoped("actor_id"), Unique: true, For: "one membership per user; who the caller is"},
		{Collection: Membership, Keys: keys("actor_id"), For: "accounts of a user"},
		{Collection: Membership, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: ServiceAccount, Keys: scoped("name"), Unique: true, For: "one service account per name; listed by name"},
		{Collection: ServiceAccount, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: WorkspaceRole, Keys: scoped("name"), Unique: true, For: "one role per name; listed by name"},
		{Collection: WorkspaceRole, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: WorkspaceAccess, Keys: scoped("actor_id"), Unique: true, For: "one role per actor; who the caller is"},
		{Collection: WorkspaceAccess, Keys: keys("actor_id"), For: "workspaces of an actor"},
		{Collection: WorkspaceAccess, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: Team, Keys: scoped("name"), Unique: true, For: "one team per name; listed by name"},
		{Collection: Team, Keys: scoped("memberships.id"), For: "teams of an actor"},
		{Collection: Team, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},

		// Indexes for related filters of collections that are described elsewhere.
		{Collection: Deployment, Keys: scoped("flow_id", "name"), Unique: true, For: "one deployment per flow and name; flows by their deployments"},
		{Collection: Deployment, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{Collection: Deployment, Keys: scoped("created", "_id"), For: "CREATED_DESC"},
		{Collection: Deployment, Keys: scoped("updated", "_id"), For: "UPDATED_DESC"},
		{Collection: Deployment, Keys: scoped("tags"), For: "tags"},
		{Collection: Deployment, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: Deployment, Keys: keys("schedule_due"), Partial: present("schedule_due"), For: "what the scheduler examines, of all workspaces"},
		{Collection: Deployment, Keys: scoped("work_queue_id"), For: "deployments by work queue and pool"},
		{Collection: WorkQueue, Keys: WorkQueuesByPool, Unique: true, For: "one queue per pool and name; queues by pool"},
		{Collection: WorkQueue, Keys: scoped("name", "_id"), For: "NAME_*; name.any_"},
		{Collection: WorkQueue, Keys: keys("status"), For: "ready queues of all workspaces"},
		{Collection: WorkQueue, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: WorkPool, Keys: WorkPoolsByName, Unique: true, For: "one pool per name; NAME_*; read by name"},
		{Collection: WorkPool, Keys: keys("status"), For: "ready pools of all workspaces"},
		{Collection: WorkPool, Keys: outboxKeys, Partial: outboxPartial, For: "relay's sweeper"},
		{Collection: Worker, Keys: scoped("work_pool_id", "name"), Unique: true, For: "one worker per pool and name"},
		{Collection: Worker, Keys: scoped("work_pool_id", "last_heartbeat_time", "_id"), For: "workers of a pool, the last seen first"},
		{Collection: Worker, Keys: scoped("work_pool_id", "status", "last_heartbeat_time"), For: "workers of a pool that are online"},
		{Collection: Worker, Keys: keys("status"), For: "online workers of all workspaces"},
		{Collection: Deployment, Keys: keys("status"), For: "ready deployments of all workspaces"},
	}
}

// ObservedStates are the keys of the indexes that find the types and names in histories, with the first and the last time.
var ObservedStates = scoped("state.type", "state.name", "timestamp")

// FlowRunsByStateAndTime are the keys of the index that the scatter of runs reads instead of documents. The run time costs no
// further write: it changes with the state only.
var FlowRunsByStateAndTime = scoped("state.type", "expected_start_time", "_id", "deployment_id", "total_run_time", "flow_id")

// FlowRunsByQueue returns the keys of the index of a queue's runs by state and time.
var FlowRunsByQueue = scoped("work_queue_id", "state.type", "next_scheduled_start_time")

// FlowRunsByRank returns the keys of the index of a queue's scheduled runs by deployment and rank.
var FlowRunsByRank = scoped("work_queue_id", "deployment_id", "rank", "next_scheduled_start_time")

// FlowRunsByDeployment returns the keys of the index of the scheduled runs of deployments by rank.
var FlowRunsByDeployment = scoped("deployment_id", "rank", "next_scheduled_start_time")

// FlowRunsWithWeight returns the keys of the index of the scheduled runs that have a weight.
var FlowRunsWithWeight = scoped("deployment_id", "next_scheduled_start_time")

// WorkPoolsByName returns the keys of the index of pools by name.
var WorkPoolsByName = scoped("name")

// WorkQueuesByPool returns the keys of the index of the queues of pools.
var WorkQueuesByPool = scoped("work_pool_id", "name")

// EventsByName returns the keys of the index of events by name.
var EventsByName = scoped("event", "occurred", "_id")

// EventsByResource returns the keys of the index of events by resource.
var EventsByResource = scoped("resource_id", "occurred", "_id")

// EventsByAnyResource returns the keys of the index of events by their own and their related resources.
var EventsByAnyResource = scoped("resource_ids", "occurred", "_id")

// byStart returns the keys of runs with these fields, ordered by START_TIME_*. The keys have equal suffixes, so a store
// can intersect the indexes of several fields. Their last field is the time by which dashboards select windows, so the
// keys alone can test it.
func byStart(names ...string) bson.D {
	return scoped(append(names, "sort_start", "_id", "expected_start_time")...)
}

// scoped returns ascending keys that start with the workspace.
func scoped(names ...string) bson.D { return keys(append([]string{workspaceKey}, names...)...) }

func keys(names ...string) bson.D {
	d := make(bson.D, len(names))
	for i, n := range names {
		d[i] = bson.E{Key: n, Value: 1}
	}
	return d
}

// present covers the documents that have a field.
func present(field string) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: true}}}}
}

// oneOf covers the documents whose field has one of the values.
func oneOf(field string, values ...string) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values}}}}
}
