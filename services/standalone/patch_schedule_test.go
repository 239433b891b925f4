package standalone_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients of the reference remove the parameters of a schedule by leaving them out; every other absent field keeps its value.
func TestPatchOfAScheduleEmptiesAbsentParameters(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	var flow, deployment struct{ ID string }
	require.Equal(t, http.StatusCreated, s.ask(http.MethodPost, "/flows/", `{"name": "f"}`, &flow))
	require.Equal(t, http.StatusCreated, s.ask(http.MethodPost, "/deployments/", `{"name": "d", "flow_id": "`+flow.ID+`",
		"schedules": [{"schedule": {"cron": "0 9 * * *"}, "slug": "daily", "max_scheduled_runs": 2, "parameters": {"a": 1}}]}`, &deployment))
	type schedule struct {
		ID, Slug   string
		Active     bool
		Schedule   map[string]any
		Max        int            `json:"max_scheduled_runs"`
		Parameters map[string]any `json:"parameters"`
	}
	read := func() schedule {
		var list []schedule
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/deployments/"+deployment.ID+"/schedules", "", &list))
		require.Len(t, list, 1)
		return list[0]
	}
	created := read()
	for _, c := range []struct {
		body string
		want map[string]any
	}{
		{`{"active": true, "parameters": {"b": [1.0]}}`, map[string]any{"b": []any{1.0}}},
		{`{"active": false}`, map[string]any{}},
		{`{"schedule": {"cron": "30 2 * * *"}, "parameters": {"b": 2.0}}`, map[string]any{"b": 2.0}},
		{`{"slug": "renamed", "active": null, "schedule": null}`, map[string]any{}},
		{`{"parameters": {"c": null}}`, map[string]any{"c": nil}},
		{`{}`, map[string]any{}},
	} {
		t.Run(c.body, func(t *testing.T) {
			require.Equal(t, http.StatusNoContent, s.ask(http.MethodPatch, "/deployments/"+deployment.ID+"/schedules/"+created.ID, c.body, nil), c.body)
			require.Equal(t, c.want, read().Parameters, c.body)
		})
	}
	changed := read()
	require.False(t, changed.Active)
	require.Equal(t, "renamed", changed.Slug)
	require.Equal(t, 2, changed.Max)
	require.Equal(t, "30 2 * * *", changed.Schedule["cron"])
}
