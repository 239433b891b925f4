package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// TestComparisonSees changes the document in one place each and expects the comparison to notice: a comparison that
// is blind would let everything pass.
func TestComparisonSees(t *testing.T) {
	t.Parallel()
	schemas := func(d *described, name, property string) raw {
		s := d.Components.Schemas[name]
		if property == "" {
			return s
		}
		return asRaw(asRaw(s["properties"])[property])
	}
	for want, change := range map[string]func(d *described){
		"Flow properties: lacks labels":                      func(d *described) { delete(asRaw(schemas(d, "Flow", "")["properties"]), "labels") },
		"Flow properties: adds more":                         func(d *described) { asRaw(schemas(d, "Flow", "")["properties"])["more"] = map[string]any{} },
		"Flow required: lacks name":                          func(d *described) { schemas(d, "Flow", "")["required"] = []any{"id", "created", "updated"} },
		"Flow.name: pattern none instead of \"^[^/%&><]+$\"": func(d *described) { delete(schemas(d, "Flow", "name"), "pattern") },
		"Flow.tags[]: type \"integer\" instead of \"string\"": func(d *described) {
			asRaw(schemas(d, "Flow", "tags")["items"])["type"] = "integer"
		},
		"FlowRunResponse.state: nullable false instead of true": func(d *described) {
			delete(schemas(d, "FlowRunResponse", "state"), "nullable")
		},
		"FlowFilter: additionalProperties none instead of false": func(d *described) {
			delete(schemas(d, "FlowFilter", ""), "additionalProperties")
		},
		"FlowFilter.operator: default \"or_\" instead of \"and_\"": func(d *described) { schemas(d, "FlowFilter", "operator")["default"] = "or_" },
		"StateType enum: adds LOST": func(d *described) {
			s := schemas(d, "StateType", "")
			s["enum"] = append(s["enum"].([]any), "LOST")
		},
		"OrchestrationResult.details: 3 variants instead of 4": func(d *described) {
			s := schemas(d, "TransitionDetails", "")
			s["oneOf"] = s["oneOf"].([]any)[:3]
		},
		"Body_read_events_events_filter_post.limit: maximum 60 instead of 50": func(d *described) {
			schemas(d, "Body_read_events_events_filter_post", "limit")["maximum"] = 60.0
		},
		"GET /flow_run_states/ query flow_run_id: required false instead of true": func(d *described) {
			d.Paths["/flow_run_states/"]["get"].Parameters[0].Required = false
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			ours, theirs := load(t, contract(t, vocabulary.Prefect)), loadFile(t, *reference)
			before := compareDocuments(ours, theirs)
			change(ours)
			after := compareDocuments(ours, theirs)
			require.NotContains(t, before, want)
			require.Contains(t, after, want)
		})
	}
}
