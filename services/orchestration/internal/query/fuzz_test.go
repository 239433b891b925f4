package query

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// FuzzFilter compiles arbitrary requests. A request that the contract accepts either compiles or is refused because of an
// operand, and nothing of it becomes an operator.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"flows": {"name": {"like_": "$where"}, "deployment": {"is_null_": true}}}`,
		`{"flow_runs": {"operator": "or_", "tags": {"all_": []}, "state": {"type": {"any_": ["RUNNING"]}}}}`,
		`{"flow_runs": {"start_time": {"before_": "9999-12-31T23:59:59.999999Z"}, "parent_flow_run_id": {"any_": []}}}`,
		`{"task_runs": {"flow_run_id": {}, "subflow_runs": {"exists_": false}}, "work_pools": {"type": {"any_": ["a"]}}}`,
		`{"related": [{"labels": {"a.b": ["!x*", "y"]}, "resources_in_roles": [["a", "b"]]}], "text": {"query": "-\"a +b"}}`,
		`{"resource": {"labels": {"$ne": "*"}}, "event": {"prefix": ["("], "exclude_prefix": ["\u0000"]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if q := (&orchv1.FlowRunQuery{}); restjson.Unmarshal(text, q) == nil {
			for _, own := range []Collection{Flow, FlowRun, TaskRun, Deployment} {
				p, err := NewPlan(own, q)
				if errors.Is(err, ErrOperand) {
					continue
				}
				require.NoError(t, err)
				requireTameNode(t, p.root)
			}
		}
		if q := (&orchv1.WebhookQuery{}); restjson.Unmarshal(text, q) == nil {
			compileTame(t, q.GetWebhooks())
		}
		if e := (&orchv1.EventFilter{}); restjson.Unmarshal(text, e) == nil {
			d, err := CompileEvents(e, epoch)
			if !errors.Is(err, ErrOperand) {
				require.NoError(t, err)
				requireTame(t, d)
			}
		}
	})
}

func compileTame(t *testing.T, m proto.Message) {
	t.Helper()
	f, err := Compile(m)
	if errors.Is(err, ErrOperand) {
		return
	}
	require.NoError(t, err)
	requireTameNode(t, f.root)
}
