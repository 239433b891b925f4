package standalone_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// posted is an event as a client sends it; more is what it has besides.
func posted(more string) string {
	return fmt.Sprintf(`{"id": %q, "occurred": %q, "event": "test.happened", "resource": {"orch.resource.id": "thing"}%s}`,
		uuid.NewString(), time.Now().Format(time.RFC3339Nano), more)
}

type eventPage struct {
	Events   []json.RawMessage
	Total    int64
	NextPage *string `json:"next_page"`
}

const testEvents = `{"filter": {"event": {"prefix": ["test."]}}, "limit": 2}`

func TestEventsOverHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	labels := func(n int) string {
		all := []string{`"orch.resource.id": "thing"`}
		for i := range n {
			all = append(all, fmt.Sprintf(`"label-%d": ""`, i))
		}
		return `{` + strings.Join(all, ",") + `}`
	}
	related := func(n int) string {
		return `[` + strings.Join(strings.Split(strings.Repeat(`{"orch.resource.id": "r", "orch.resource.role": "x"};`, n), ";")[:n], ",") + `]`
	}
	now := time.Now().Format(time.RFC3339Nano)
	with := func(name, resource, more string) string {
		return fmt.Sprintf(`[{"id": %q, "occurred": %q, "event": %q, "resource": %s%s}]`, uuid.NewString(), now, name, resource, more)
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"not JSON":                 {`[{`, 422},
		"no list":                  {posted(""), 422},
		"no id":                    {`[{"occurred": "` + now + `", "event": "test.x", "resource": {"orch.resource.id": "r"}}]`, 422},
		"no time":                  {`[{"id": "` + uuid.NewString() + `", "event": "test.x", "resource": {"orch.resource.id": "r"}}]`, 422},
		"no resource id":           {with("test.x", `{"a": "b"}`, ""), 422},
		"a related without a role": {with("test.x", labels(0), `, "related": [{"orch.resource.id": "r"}]`), 422},
		"a name of 1025":           {with(strings.Repeat("x", 1025), labels(0), ""), 422},
		"501 labels":               {with("test.x", labels(500), ""), 422},
		"101 related":              {with("test.x", labels(0), `, "related": `+related(101)), 422},
		"1.6 MB":                   {with("test.x", labels(0), `, "payload": {"x": "`+strings.Repeat("x", 1_600_000)+`"}`), 422},
		"one bad among good":       {`[` + posted("") + `, {}]`, 422},
		"6 MB":                     {`[` + strings.Repeat(" ", 6<<20) + `]`, 413},
		"none":                     {`[]`, 204},
		"unknown keys":             {`[` + posted(`, "more": 1`) + `]`, 204},
		"500 labels, 100 related":  {with("test.x", labels(499), `, "related": `+related(100)), 204},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.status, s.ask(http.MethodPost, "/events", c.body, nil), name)
		})
	}
	require.Equal(t, 204, s.ask(http.MethodPost, "/events", `[`+posted("")+`,`+posted("")+`,`+posted("")+`]`, nil))
	var page eventPage
	require.Eventually(t, func() bool {
		require.Equal(t, 200, s.ask(http.MethodPost, "/events/filter", testEvents, &page))
		return page.Total >= 5
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(5), page.Total, "nothing of a refused batch is stored")
	seen := len(page.Events)
	for page.NextPage != nil {
		path, ok := strings.CutPrefix(*page.NextPage, s.api)
		require.True(t, ok, "%s is on the host that was asked", *page.NextPage)
		page = eventPage{}
		require.Equal(t, 200, s.ask(http.MethodGet, path, "", &page))
		seen += len(page.Events)
	}
	require.Equal(t, 5, seen)

	for body, path := range map[string]string{
		`{"filter": {"names": []}}`:                "/events/filter",
		`{"filter": {"event": {"like_": "x"}}}`:    "/events/filter",
		`{"limit": 51}`:                            "/events/filter",
		`{"limit": -1}`:                            "/events/filter",
		`{"filter": {}, "time_interval": 0}`:       "/events/count-by/time",
		`{"filter": {}, "time_unit": "fortnight"}`: "/events/count-by/time",
		`{"filter": {"text": {"query": "` + strings.Repeat("x", 201) + `"}}}`: "/events/filter",
		`{"filter": {}}`: "/events/count-by/colour",
		`{}`:             "/events/count-by/day",
	} {
		require.Equal(t, 422, s.ask(http.MethodPost, path, body, nil), "%s %s", path, body)
	}
	require.Equal(t, 403, s.ask(http.MethodGet, "/events/filter/next?page-token=nonsense", "", nil))
	require.Equal(t, 422, s.ask(http.MethodGet, "/events/filter/next", "", nil))
	for _, countable := range []string{"day", "time", "event", "resource"} {
		var counts []struct{ Count int64 }
		require.Equal(t, 200, s.ask(http.MethodPost, "/events/count-by/"+countable, `{"filter": {"event": {"prefix": ["test."]}}}`, &counts))
		var all int64
		for _, c := range counts {
			all += c.Count
		}
		require.Equal(t, int64(5), all, countable)
	}
}

func TestLogsOverHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	var flow, run struct{ ID string }
	require.Equal(t, 201, s.ask(http.MethodPost, "/flows/", `{"name": "f"}`, &flow))
	require.Equal(t, 201, s.ask(http.MethodPost, "/flow_runs/", `{"flow_id": "`+flow.ID+`", "name": "r"}`, &run))
	log := func(message string) string {
		return fmt.Sprintf(`{"name": "n", "level": 20, "message": %q, "timestamp": "2026-11-22T12:00:00.5+01:00", "flow_run_id": %q}`, message, run.ID)
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"not JSON":       {`[{`, 422},
		"no list":        {log("x"), 422},
		"no level":       {`[{"name": "n", "message": "x", "timestamp": "2026-11-22T12:00:00Z"}]`, 422},
		"a wrong level":  {`[{"name": "n", "level": "high", "message": "x", "timestamp": "2026-11-22T12:00:00Z"}]`, 422},
		"unknown keys":   {`[{"name": "n", "level": 20, "message": "x", "timestamp": "2026-11-22T12:00:00Z", "more": 1}]`, 422},
		"no id of a run": {`[{"name": "n", "level": 20, "message": "x", "timestamp": "2026-11-22T12:00:00Z", "flow_run_id": "r"}]`, 422},
		"one bad":        {`[` + log("x") + `, {}]`, 422},
		"none":           {`[]`, 201},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.status, s.ask(http.MethodPost, "/logs/", c.body, nil), name)
		})
	}
	var done any
	require.Equal(t, 201, s.ask(http.MethodPost, "/logs/", `[`+log("a")+`,`+log(`b, "c"`)+`]`, &done))
	require.Nil(t, done)
	var found []map[string]any
	require.Equal(t, 200, s.ask(http.MethodPost, "/logs/filter", "", &found))
	require.Len(t, found, 2)
	require.Equal(t, "2026-11-22T11:00:00.500000Z", found[0]["timestamp"])
	for _, body := range []string{`{"limit": 201}`, `{"offset": -1}`, `{"logs": {"colour": 1}}`, `{"sort": "LEVEL_ASC"}`, `{"logs": {"text": {}}}`} {
		require.Equal(t, 422, s.ask(http.MethodPost, "/logs/filter", body, nil), body)
	}

	response, err := s.http.Get(s.api + "/flow_runs/" + run.ID + "/logs/download")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, "text/csv; charset=utf-8", response.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="flow-run-logs.csv"; filename*=UTF-8''r-logs.csv`, response.Header.Get("Content-Disposition"))
	rows, err := csv.NewReader(response.Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"timestamp", "level", "flow_run_id", "task_run_id", "message", "worker_id", "worker_name"},
		{"2026-11-22 11:00:00.5+00:00", "20", run.ID, "", "a", "", ""},
		{"2026-11-22 11:00:00.5+00:00", "20", run.ID, "", `b, "c"`, "", ""},
	}, rows)
	require.Equal(t, 404, s.ask(http.MethodGet, "/flow_runs/"+uuid.NewString()+"/logs/download", "", nil))
}
