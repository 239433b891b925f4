package query

import "go.mongodb.org/mongo-driver/v2/bson"

// Retired returns the keys of indexes that earlier versions created and that Indexes no longer has. Each would cost every write
// of its collection, so the store drops them. An index that leaves Indexes, or whose keys change, is added here:
// one version later if a hint of this version names it, because a query with a hint of a missing index fails.
func Retired() map[Collection][]bson.D {
	retired := retired()
	for _, index := range indexes() {
		if index.hasOutbox() {
			retired[index.Collection] = append(retired[index.Collection], keys("outbox.at"))
		}
	}
	return retired
}

func retired() map[Collection][]bson.D {
	return map[Collection][]bson.D{
		AutomationAction: {
			keys("next"),
		},
		FlowRun: {
			keys("outbox.id"),
			keys("state.type", "state.timestamp"),
			scoped("deployment_id", "sort_start", "_id"),
			scoped("expected_start_time", "_id"),
			scoped("expected_start_time", "_id", "deployment_id", "flow_id"),
			scoped("flow_id", "idempotency_key"),
			scoped("flow_id", "sort_start", "_id"),
			scoped("sort_start", "_id"),
			scoped("start_time", "_id"),
			scoped("state.name", "sort_start", "_id"),
			scoped("state.type", "expected_start_time", "_id", "deployment_id"),
			scoped("state.type", "flow_id"),
			scoped("state.type", "expected_start_time", "_id", "deployment_id", "total_run_time"),
			scoped("state.type", "sort_start", "_id"),
			scoped("tags", "sort_start", "_id"),
		},
		FlowRunState: {
			scoped("flow_run_id", "timestamp", "_id"),
		},
		TaskRunState: {
			scoped("task_run_id", "run_revision"),
		},
		TaskRun: {
			keys("outbox.id"),
			scoped("flow_run_id", "sort_start", "_id"),
		},
	}
}
