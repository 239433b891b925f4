// Package runlist divides flow runs into two lists: the past ones, and the upcoming ones. Every run is in exactly one of them.
package runlist

import "maps"

// late is the name of the SCHEDULED state of a run that is overdue.
const late = "Late"

const scheduled = "SCHEDULED"

// List is one of the two lists: a filter of flow runs and its order, as the API has them.
type List struct {
	filter func() map[string]any
	sort   string
}

// Past are the runs that have started, have ended or are late, the latest first. A run that awaits a retry has started. A
// run that a worker took is pending and no longer upcoming.
func Past() List {
	return List{sort: "START_TIME_DESC", filter: func() map[string]any {
		return map[string]any{
			"operator": "or_",
			"state": map[string]any{
				"operator": "or_",
				"type":     map[string]any{"not_any_": []string{scheduled}},
				"name":     map[string]any{"any_": []string{late}},
			},
			"start_time": map[string]any{"is_null_": false},
		}
	}}
}

// Upcoming are the other runs: scheduled, not yet started and not late, the soonest first.
func Upcoming() List {
	return List{sort: "EXPECTED_START_TIME_ASC", filter: func() map[string]any {
		return map[string]any{
			"state": map[string]any{
				"type": map[string]any{"any_": []string{scheduled}},
				"name": map[string]any{"not_any_": []string{late}},
			},
			"start_time": map[string]any{"is_null_": true},
		}
	}}
}

// Query is the body of a call for the list's runs that belong to all of the given objects, such as "deployments" with a
// filter of deployments. The caller adds its limit.
func (l List) Query(related map[string]any) map[string]any {
	body := map[string]any{"flow_runs": l.filter(), "sort": l.sort}
	maps.Copy(body, related)
	return body
}
