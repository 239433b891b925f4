package query

import (
	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// serviceQueries are the queries that no filter or sort of the contract causes: reads by a unique name, lists in a
// fixed order, dependents of deleted documents, and background work over all workspaces. An index that only such a
// query uses needs its row here.
func serviceQueries(ws uuid.UUID) []labelledQuery {
	scoped := func(more ...bson.E) bson.D { return Scope(ws, bson.D(more)) }
	is := func(field string, value any) bson.E { return bson.E{Key: field, Value: value} }
	in := func(field string, values ...any) bson.E {
		return is(field, bson.D{{Key: "$in", Value: bson.A(values)}})
	}
	before := func(field string) bson.E { return is(field, bson.D{{Key: "$lte", Value: int64(50)}}) }
	some := binary(numbered(5))
	asc := func(fields ...string) bson.D { return keys(fields...) }
	newest := func(field string) bson.D { return bson.D{{Key: field, Value: -1}, {Key: "_id", Value: -1}} }
	first := func(label string, c Collection, filter bson.D) labelledQuery { return find(label, c, filter, nil, 1) }

	all := []labelledQuery{
		find("users of an address", User, scoped(is("email", "email5")), asc("email"), 0),
		first("user of an account's address", User, scoped(is("account_address", "account_address5"))),
		first("usage of an account", AccountUsage, scoped()),
		// Flow runs.
		first("run by idempotency key", FlowRun, scoped(is("flow_id", some), is("idempotency_key", "idempotency_key5"))),
		find("runs that a worker polls", FlowRun, scoped(in("work_queue_id", some), is("state.type", "SCHEDULED"), before("next_scheduled_start_time")),
			asc("next_scheduled_start_time", "_id"), 10),
		find("first runs of deployments in a queue", FlowRun, scoped(is("work_queue_id", some), in("deployment_id", some),
			before("next_scheduled_start_time")), asc("rank", "next_scheduled_start_time"), 10),
		find("first runs of deployments", FlowRun, scoped(in("deployment_id", some), before("next_scheduled_start_time")),
			asc("rank", "next_scheduled_start_time"), 10),
		withHint(first("run with a weight", FlowRun, scoped(in("deployment_id", some), is("work_queue_id", some), before("next_scheduled_start_time"),
			is("weight", bson.D{{Key: "$exists", Value: true}}))), FlowRunsWithWeight),
		count("runs of a queue that wait", FlowRun, scoped(is("work_queue_id", some), is("state.type", "SCHEDULED"), before("next_scheduled_start_time"))),
		find("deployments that the scheduler examines", Deployment, bson.D{before("schedule_due")}, asc("schedule_due"), 100),
		find("backfills that have not ended", Backfill, bson.D{is("open", true)}, nil, 0),
		count("backfills of a workspace that have not ended", Backfill, scoped(is("open", true))),
		find("newest backfills", Backfill, scoped(), bson.D{{Key: "_id", Value: -1}}, 10),
		find("backfills of a deployment", Backfill, scoped(is("deployment_id", some)), bson.D{{Key: "_id", Value: -1}}, 10),
		find("late runs", FlowRun, bson.D{is("state.name", "Scheduled"), before("next_scheduled_start_time")}, asc("next_scheduled_start_time"), 100),
		find("runs after the deadline of their start", FlowRun, bson.D{before("start_deadline")}, asc("start_deadline"), 100),
		find("pending runs", FlowRun, bson.D{is("state.type", "PENDING")}, asc("state.timestamp", "_id"), 0),
		find("running runs", FlowRun, bson.D{is("state.type", "RUNNING")}, asc("state.timestamp", "_id"), 0),
		find("runs that wait for a retry", FlowRun, bson.D{is("state.name", "AwaitingRetry"), before("next_scheduled_start_time")}, asc("next_scheduled_start_time"), 100),
		count("events about a run", Event, scoped(is("resource_ids", "resource_ids5"))),
		withHint(find("new heartbeats of a run", Event, scoped(is("resource_id", "resource_id5"), is("event", "event5"),
			is("occurred", bson.D{{Key: "$gt", Value: int64(5)}})), bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}}, 3), EventsByResource),
		find("submission of a run to a worker", Event, scoped(is("resource_ids", "resource_ids5"), is("event", "event5"), before("occurred")),
			bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}}, 1),
		find("paused runs", FlowRun, bson.D{is("state.type", "PAUSED"), before("state.timestamp")}, asc("state.timestamp"), 100),
		find("cancelling runs", FlowRun, bson.D{is("state.type", "CANCELLING"), before("state.timestamp")}, asc("state.timestamp"), 100),
		find("cancelled runs", FlowRun, bson.D{is("state.type", "CANCELLED"), is("state.timestamp", bson.D{{Key: "$gte", Value: int64(5)}})},
			asc("state.timestamp"), 100),
		find("unfinished subflows", FlowRun, bson.D{
			in("state.type", "SCHEDULED", "RUNNING"),
			is("parent_task_run_id", bson.D{{Key: "$exists", Value: true}}),
		}, asc("_id"), 100),
		find("subflows of tasks", FlowRun, scoped(in("parent_task_run_id", some)), asc("_id"), 0),
		find("next runs of flows", FlowRun, scoped(is("next_scheduled_start_time", bson.D{{Key: "$gt", Value: int64(0)}}), in("flow_id", some)),
			asc("next_scheduled_start_time", "_id"), 0),
		find("runs of a state in a window of time", FlowRun, scoped(in("state.type", "SCHEDULED"),
			is("expected_start_time", bson.D{{Key: "$gte", Value: int64(5)}, {Key: "$lte", Value: int64(50)}})), asc("expected_start_time", "_id"), pageSize),
		count("runs of a state in a window of time", FlowRun, scoped(in("state.type", "SCHEDULED"),
			is("expected_start_time", bson.D{{Key: "$gte", Value: int64(5)}, {Key: "$lte", Value: int64(50)}}))),
		first("run with an effect", FlowRun, bson.D{is("outbox_next_at", nil), is("outbox.at", bson.D{{Key: "$gt", Value: int64(0)}}), is("outbox.id", some)}),
		find("history of a flow run", FlowRunState, scoped(is("flow_run_id", some)), nil, 0),
		find("next observed state", FlowRunState, scoped(is("state.type", "RUNNING"), is("state.name", bson.D{{Key: "$gt", Value: "Running"}})),
			asc("state.name", "timestamp"), 1),
		find("latest time of an observed state", FlowRunState, scoped(is("state.type", "RUNNING"), is("state.name", "Running")), newest("timestamp"), 1),
		find("inputs of a run by prefix", FlowRunInput, scoped(is("flow_run_id", some), is("key", bson.D{{Key: "$gte", Value: "a"}})), asc("key"), 0),

		find("open clean-up jobs of a pool", CleanupJob, scoped(is("work_pool_id", some), is("free_at", bson.D{{Key: "$gt", Value: int64(0)}})), asc("free_at"), 1000),
		find("clean-up jobs of a deleted pool", CleanupJob, scoped(is("work_pool_id", some)), nil, 0),

		// Task runs.
		first("run by task and dynamic key", TaskRun, scoped(is("flow_run_id", some), is("task_key", "task_key5"), is("dynamic_key", "dynamic_key5"))),
		find("task runs of a run", TaskRun, scoped(is("flow_run_id", some)), asc("_id"), 0),
		find("unfinished task runs of runs", TaskRun, scoped(in("flow_run_id", some), in("state.type", "SCHEDULED", "RUNNING")), asc("_id"), 100),
		find("deferred task runs", TaskRun, scoped(in("task_key", "task_key5"), before("offer_at")), asc("offer_at", "_id"), 100),
		first("newest state under a cache key", TaskRunCache, scoped(is("cache_key", "cache_key5"))),
		find("newest state under a cache key", TaskRunCache, scoped(is("cache_key", "cache_key5")), newest("timestamp"), 1),
		find("history of a task run", TaskRunState, scoped(is("task_run_id", some)), nil, 0),
		find("next observed state", TaskRunState, scoped(is("state.type", "RUNNING"), is("state.name", bson.D{{Key: "$gt", Value: "Running"}})),
			asc("state.name", "timestamp"), 1),
		find("latest time of an observed state", TaskRunState, scoped(is("state.type", "RUNNING"), is("state.name", "Running")), newest("timestamp"), 1),
		find("connected workers", TaskWorker, scoped(), asc("identifier", "_id"), 100),

		// Logs and artifacts.
		find("logs of a run", Log, scoped(is("flow_run_id", some)), asc("timestamp", "_id"), 1000),
		find("artifacts of a run", Artifact, scoped(is("flow_run_id", some)), asc("_id"), 0),
		find("newest artifact of a key", Artifact, scoped(is("key", "key5")), newest("created"), 1),
		find("keys by their newest artifacts", ArtifactLatest, scoped(in("latest_id", some)), asc("_id"), 0),

		find("assets by key", Asset, scoped(), asc("key"), pageSize),

		// Blocks.
		first("type by slug", BlockType, scoped(is("slug", "slug5"))),
		find("types by name", BlockType, scoped(), asc("name", "_id"), pageSize),
		first("schema by checksum", BlockSchema, scoped(is("checksum", "checksum5"))),
		find("schemas, newest first", BlockSchema, scoped(), newest("created"), pageSize),
		find("documents of a type by name", BlockDocument, scoped(is("block_type_id", some)), asc("name"), 0),
		find("documents of a schema", BlockDocument, scoped(is("block_schema_id", some)), asc("_id"), 100),

		// Automations and webhooks.
		find("automations of a resource", Automation, scoped(is("related_resources", "related_resources5")), asc("name", "_id"), 0),
		find("automations that a resource owns", Automation, scoped(is("owner_resource", "owner_resource5"), before("created")), asc("_id"), 100),
		find("firings of an automation", Event, scoped(is("resource_id", "resource_id5"), in("event", "event5", "event6")), newest("occurred"), 50),
		find("outcomes of the actions of firings", Event, scoped(in("resource_ids", "resource_ids5", "resource_ids6"), in("event", "event5", "event6")),
			asc("occurred", "_id"), 0),
		find("events that an evaluation reads", Event, scoped(in("event", "event5", "event6"),
			is("occurred", bson.D{{Key: "$gte", Value: int64(5)}, {Key: "$lt", Value: int64(50)}})), asc("occurred", "_id"), 0),
		find("state events that a metric reads", Event, scoped(in("event", "event5", "event6"), is("occurred", bson.D{{Key: "$gte", Value: int64(5)}})),
			newest("occurred"), 0),
		find("webhook by address", Webhook, bson.D{is("slug", "slug5")}, nil, 1),
		find("webhooks of a service account", Webhook, bson.D{is("service_account_id", some)}, nil, 0),
		find("destinations with subscriptions", Destination, bson.D{is("ws", binary(ws)), is("block_document_id", nil)}, asc("name"), 200),
		count("destinations with subscriptions", Destination, scoped(is("block_document_id", nil))),
		find("last event of a name", Event, scoped(is("event", "event5")), newest("occurred"), 1),
		find("event types of a batch", EventType, scoped(is("name", bson.D{{Key: "$in", Value: bson.A{"name5", "name6"}}})), nil, 0),
		count("event types of a workspace", EventType, scoped()),
		find("event types without events for long", EventType, bson.D{is("expires", bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: int64(50)}})}, asc("expires"), 500),
		find("destinations that are due", Destination, bson.D{is("due", bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: int64(50)}})}, asc("due"), 256),
		find("refused requests of a webhook beyond their bound", WebhookDelivery,
			scoped(is("webhook_id", some), is("refused", true)), bson.D{{Key: "received", Value: -1}, {Key: "_id", Value: -1}}, 1),
		find("samples of a webhook", WebhookSample, scoped(is("webhook_id", some)), asc("name"), 0),
		count("samples of a webhook", WebhookSample, scoped(is("webhook_id", some))),
		find("deliveries that are due", DestinationDelivery, scoped(is("destination_id", some),
			is("next_attempt", bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: int64(50)}})), asc("next_attempt", "sequence"), 100),
		find("first delivery of a key", DestinationDelivery, scoped(is("destination_id", some), is("key", "key5")), asc("sequence"), 1),
		find("deliveries of a key behind one", DestinationDelivery, scoped(is("destination_id", some), is("key", "key5"),
			is("sequence", bson.D{{Key: "$gt", Value: int64(5)}})), asc("sequence"), 100),
		count("deliveries that wait", DestinationDelivery, scoped(is("destination_id", some), is("waiting_bytes", bson.D{{Key: "$gt", Value: int64(0)}}))),
		find("deliveries whose retention is over", DestinationDelivery, scoped(is("destination_id", some),
			is("finished", bson.D{{Key: "$lt", Value: int64(50)}})), asc("finished"), 500),
		find("finished deliveries beyond the bound", DestinationDelivery, scoped(is("destination_id", some),
			is("finished", bson.D{{Key: "$gt", Value: int64(0)}})), newest("finished"), 1),
		count("finished deliveries", DestinationDelivery, scoped(is("destination_id", some), is("finished", bson.D{{Key: "$gt", Value: int64(0)}}))),
		find("deliveries of a deleted destination", DestinationDelivery, scoped(is("destination_id", some)), asc("queued"), 500),
		find("calls and notifications of an automation", DestinationDelivery, scoped(is("automation_id", some)), newest("queued"), 200),
		find("delivery of a destination", DestinationDelivery, scoped(is("destination_id", some), is("_id", some)), nil, 1),

		// Concurrency.
		find("limits by name", ConcurrencyLimit, scoped(), asc("name", "_id"), pageSize),
		first("limits of a lease", ConcurrencyLimit, scoped(is("holders.lease_id", some))),
		find("expired holders", ConcurrencyLimit, bson.D{before("holders.expires")}, nil, 0),
		find("expired leases", ConcurrencyLease, bson.D{before("expires")}, nil, 0),

		// Accounts.
		find("accounts of a user", Membership, bson.D{is("actor_id", some)}, nil, 0),
		find("workspaces of an actor", WorkspaceAccess, bson.D{in("actor_id", some)}, nil, 0),
		find("teams of an actor", Team, scoped(is("memberships.id", some)), asc("_id"), 0),
	}
	for _, counted := range []labelledQuery{
		count("count of a workspace", FlowRun, scoped()),
		count("count by state type", FlowRun, scoped(is("state.type", "RUNNING"))),
		count("count by state name", FlowRun, scoped(is("state.name", "name5"))),
		count("count by flow", FlowRun, scoped(is("flow_id", some))),
		count("count by deployment", FlowRun, scoped(is("deployment_id", some))),
		count("count of a workspace", TaskRun, scoped()),
		count("count by state type", TaskRun, scoped(is("state.type", "RUNNING"))),
		count("count by flow run", TaskRun, scoped(is("flow_run_id", some))),
	} {
		counted.keysOnly = true
		all = append(all, counted)
	}
	for _, ix := range Indexes() {
		if ix.hasOutbox() {
			all = append(all,
				find("documents with due effects", ix.Collection, bson.D{is("outbox_next_at", nil), before("outbox.at")}, nil, 100),
				find("documents whose failed effects are due", ix.Collection, bson.D{before("outbox_next_at")}, asc("outbox_next_at"), 100))
		}
	}
	return all
}
