package rules

import (
	"encoding/json"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// persisted tells whether a state refers to a result that somebody may read: data that is an object, and not one of a
// result that was never written.
func persisted(s *orchv1.State) bool {
	if len(s.GetData()) == 0 {
		return false
	}
	var data struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(s.GetData(), &data) == nil && string(s.GetData()) != "null" && data.Type != "unpersisted"
}

// preventResultDataLoss keeps a result from being replaced by nothing.
var preventResultDataLoss = Rule{
	Name: "PreventResultDataLoss", From: setOf(completed), To: setOf(completed),
	Before: func(t *Transition) {
		if persisted(t.Initial) && len(t.Proposed.GetData()) == 0 {
			t.reject(nil, "The run is completed and has a result that this state would lose.")
		}
	},
}
