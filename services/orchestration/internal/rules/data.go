package rules

import "encoding/json"

// persisted reports whether a state refers to a readable result: its data is an object and does not describe an
// unwritten result.
func persisted(s interface{ GetData() []byte }) bool {
	if len(s.GetData()) == 0 {
		return false
	}
	var data struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(s.GetData(), &data) == nil && string(s.GetData()) != "null" && data.Type != "unpersisted"
}

// preventResultDataLoss keeps an existing result when a new state refers to none.
var preventResultDataLoss = Rule{
	Name: "PreventResultDataLoss", From: setOf(completed), To: setOf(completed),
	Before: func(t *Transition) {
		if persisted(t.Initial) && !persisted(t.Proposed) {
			t.reject(nil, "The run is completed and has a result that this state would lose.")
		}
	},
}
