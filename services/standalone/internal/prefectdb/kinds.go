package prefectdb

import (
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Kinds are the kinds of resources, in the order in which they refer to each other.
func Kinds() []Kind {
	return slices.Concat(
		[]Kind{
			{Name: "flows", table: "flow", resource: &orchv1.Flow{}, create: &orchv1.FlowCreate{}},
			{Name: "variables", table: "variable", resource: &orchv1.Variable{}, create: &orchv1.VariableCreate{}},
			{Name: "saved searches", table: "saved_search", resource: &orchv1.SavedSearch{}, create: &orchv1.SavedSearchCreate{}},
			{Name: "concurrency limits", table: "concurrency_limit_v2", resource: &orchv1.ConcurrencyLimitV2{}, create: &orchv1.ConcurrencyLimitV2Create{}},
			{Name: "concurrency limits of tags", table: "concurrency_limit", resource: &orchv1.ConcurrencyLimit{}, create: &orchv1.ConcurrencyLimitCreate{}},
		},
		workPools(), blocks(), deployments(),
		[]Kind{automations()},
		runs(),
		[]Kind{
			{Name: "artifacts", table: "artifact", resource: &orchv1.Artifact{}, create: &orchv1.ArtifactCreate{}},
			{Name: "artifact collections", table: "artifact_collection", resource: &orchv1.ArtifactCollection{}},
			{Name: "logs", table: "log", resource: &orchv1.Log{}, create: &orchv1.LogCreate{}},
			{Name: "events", table: "events", resource: &orchv1.ReceivedEvent{}, create: &orchv1.Event{}},
		},
	)
}

// unread are the tables without rows of their own, and those that kinds read besides their own.
var unread = []string{
	"alembic_version", "configuration", "csrf_token", "event_resources",
	"deployment_schedule", "block_schema_reference", "block_document_reference", "automation_related_resource",
}

// placeless says of tables why their rows have no place.
var placeless = map[string]string{
	"agent":                          "agents of Prefect 2",
	"automation_bucket":              "the counts of triggers begin anew",
	"automation_held_event":          "the counts of triggers begin anew",
	"automation_event_follower":      "events that waited for earlier ones",
	"composite_trigger_child_firing": "the counts of triggers begin anew",
	"deployment_version":             "versions of Prefect Cloud",
	"flow_run_notification_policy":   "notifications of Prefect 2",
	"flow_run_notification_queue":    "notifications of Prefect 2",
	"task_run_state_cache":           "cached states of Prefect 2; Prefect 3 finds results in its storage",
}
