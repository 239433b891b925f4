package query

import (
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// backgroundQueries are the queries of the scheduler, of the status services of work pools, and of automations. A query
// counts only if its index exists, so a service and its index may be added in either order.
func backgroundQueries(ws uuid.UUID) []labelledQuery {
	some := binary(numbered(5))
	var all []labelledQuery
	add := func(q labelledQuery, fields ...string) {
		if slices.ContainsFunc(Indexes(), func(ix Index) bool { return ix.Collection == q.in && slices.Equal(names(ix.Keys), fields) }) {
			all = append(all, q)
		}
	}
	// due polls one field over all workspaces.
	due := func(label string, c Collection, field string) {
		filter := bson.D{{Key: field, Value: bson.D{{Key: "$lte", Value: fieldValue(field, 50)}}}}
		add(find(label, c, filter, nil, 100), field)
	}
	for _, c := range []Collection{Deployment, WorkPool, WorkQueue, "worker"} {
		q := find("documents of a status", c, bson.D{{Key: "status", Value: bson.D{{Key: "$in", Value: bson.A{"status5"}}}}}, nil, 100)
		add(q, "status")
	}
	due("deployments that the scheduler examines", Deployment, "schedule_due")
	due("timers of proactive triggers", "automation_bucket", "due")
	due("unsettled firings", "automation_bucket", "unsettled")
	due("old buckets", "automation_bucket", "expires")
	due("webhooks that the watcher examines", WebhookWatch, "due")
	dueActions := bson.D{
		{Key: workspaceKey, Value: bson.D{{Key: "$gt", Value: some}}},
		{Key: "next", Value: bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: int64(50)}}},
	}
	add(find("due actions of the next workspaces", "automation_action", dueActions, keys(workspaceKey, "next"), 32), workspaceKey, "next")
	backlog := Scope(ws, bson.D{{Key: "sequence", Value: bson.D{{Key: "$gt", Value: int64(0)}}}})
	add(find("backlog of a workspace", "automation_hold", backlog, keys("sequence"), 100), workspaceKey, "sequence")
	due("old actions", "automation_action", "expires")
	due("keys of actions", AutomationKey, "due")

	ofPool := bson.D{{Key: "work_pool_id", Value: some}}
	online := append(slices.Clone(ofPool), bson.E{Key: "status", Value: "status5"},
		bson.E{Key: "last_heartbeat_time", Value: bson.D{{Key: "$gte", Value: int64(1)}}})
	add(find("workers of a pool", "worker", Scope(ws, ofPool), bson.D{{Key: "last_heartbeat_time", Value: -1}, {Key: "_id", Value: -1}}, pageSize),
		workspaceKey, "work_pool_id", "last_heartbeat_time", "_id")
	add(count("workers of a pool that are online", "worker", Scope(ws, online)), workspaceKey, "work_pool_id", "status", "last_heartbeat_time")
	add(find("actions of firings in a history", "automation_action",
		Scope(ws, bson.D{{Key: "triggered_event_id", Value: bson.D{{Key: "$in", Value: bson.A{some}}}}}), nil, 0), workspaceKey, "triggered_event_id")
	add(count("keys of an automation", AutomationKey, Scope(ws, bson.D{{Key: "automation_id", Value: some}})), workspaceKey, "automation_id")
	add(find("buckets of an automation", "automation_bucket", Scope(ws, bson.D{{Key: "automation_id", Value: some}}), nil, 0), workspaceKey, "automation_id")
	return all
}
