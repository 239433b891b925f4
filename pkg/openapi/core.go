package openapi

import "github.com/orch-project/orch/pkg/vocabulary"

// core are the operations that most programs use, by their ids.
var core = []string{
	"create_flow", "read_flow", "read_flow_by_name", "read_flows", "delete_flow",
	"create_flow_run", "read_flow_run", "read_flow_runs", "set_flow_run_state", "read_flow_run_states", "delete_flow_run",
	"read_task_run", "read_task_runs", "read_task_run_states",
	"create_deployment", "read_deployment", "read_deployment_by_name", "read_deployments", "read_deployment_schedules",
	"create_flow_run_from_deployment", "pause_deployment", "resume_deployment", "delete_deployment",
	"create_work_pool", "read_work_pool", "delete_work_pool",
	"read_events", "read_logs",
	"read_artifact", "read_latest_artifact", "delete_artifact",
	"create_variable", "read_variable_by_name", "delete_variable_by_name",
	"create_webhook", "read_webhook", "delete_webhook",
	"health_check", "perform_readiness_check", "read_version",
}

// Core returns the document of the operations that most programs use, from which small clients are generated: a part of
// the whole document, with the same schemas.
func Core(vocab vocabulary.Vocabulary) ([]byte, error) {
	return Document(Options{
		Title:      "Orch",
		Version:    vocabulary.APIVersion,
		Servers:    []string{"/api"},
		Example:    examples(vocab),
		Operations: core,
		Brief:      true,
	}, Services()...)
}
