package standalone_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// worstBody is the worst body of one parser behind the API.
type worstBody struct {
	name, path, body string
}

// worstBodies are those of the API's parsers: JSON, filters, events, block schemas, JSON schemas, schedules and templates.
func worstBodies() []worstBody {
	const values = jsontoken.MaxValues - 10
	objects := "[" + strings.Repeat("{},", values) + "{}]"
	beyond := "[" + strings.Repeat("{},", 1_700_000) + "{}]"
	nested := strings.Repeat("[", 2_000_000) + strings.Repeat("]", 2_000_000)
	var keys strings.Builder
	for i := range values / 2 {
		fmt.Fprintf(&keys, `"%d":{},`, i)
	}
	wide := "{" + keys.String() + `"z":1}`
	escapes := `"` + strings.Repeat(`\u0000`, 600_000) + `"`
	chain := func(n int) string { // Each definition refers twice to the next.
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"A%d":{"allOf":[{"$ref":"#/definitions/A%d"},{"$ref":"#/definitions/A%d"}]},`, i, i+1, i+1)
		}
		return `{"definitions":{` + b.String() + fmt.Sprintf(`"A%d":{}},"$ref":"#/definitions/A0"}`, n)
	}
	deep := func(n int) string { return strings.Repeat(`{"properties":{"a":`, n) + "{}" + strings.Repeat("}}", n) }
	schedule := func(s string) string { return `{"schedule": ` + s + `, "n": 1000}` }
	var all []worstBody
	for name, body := range map[string]string{"objects": objects, "too many objects": beyond, "nesting": nested, "keys": wide, "escapes": escapes} {
		for _, path := range []string{"/flows/filter", "/events", "/block_schemas/", "/block_documents/", "/automations/", "/deployments/", "/variables/", "/flow_runs/"} {
			all = append(all, worstBody{name + " to " + path, path, body})
		}
	}
	return append(all,
		worstBody{"a filter of names", "/flows/filter", `{"flows": {"name": {"any_": [` + strings.Repeat(`"a",`, values-20) + `"a"]}}}`},
		worstBody{"a filter of filters", "/flows/filter", strings.Repeat(`{"flows": {"operator": "and_", "name": `, 40_000)},
		worstBody{"a JSON schema that doubles", "/ui/schemas/validate", `{"schema": ` + chain(200) + `, "values": {"a": 1}}`},
		worstBody{"a JSON schema of depth", "/ui/schemas/validate", `{"schema": ` + deep(40) + `, "values": {"a": {"a": {}}}}`},
		worstBody{"a JSON schema of objects", "/ui/schemas/validate", `{"schema": {"properties": ` + wide + `}, "values": {}}`},
		worstBody{"a block schema of keys", "/block_schemas/", `{"fields": ` + wide + `}`},
		worstBody{"a block schema of references", "/block_schemas/", `{"fields": ` + chain(10_000) + `}`},
		worstBody{"a schedule of cron", "/ui/schedules/preview", schedule(`{"cron": "` + strings.Repeat("0-59,", 180) + `0 0 30 2 *"}`)},
		worstBody{"a long schedule of cron", "/ui/schedules/preview", schedule(`{"cron": "` + strings.Repeat("0-59,", 500_000) + `0 * * * *"}`)},
		worstBody{"a recurrence that never is", "/ui/schedules/preview", schedule(`{"rrule": "DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30"}`)},
		worstBody{"a long recurrence", "/ui/schedules/preview", schedule(`{"rrule": "FREQ=SECONDLY;BYSECOND=` + strings.Repeat("0,", 1_000_000) + `0"}`)},
		worstBody{"a template of loops", "/webhooks/render", `{"template": "{% for a in range(99999999) %}{% for b in range(99999999) %}x{% endfor %}{% endfor %}", "request": {"body": "{}"}}`},
		worstBody{"a template of parentheses", "/templates/validate", `"{{ ` + strings.Repeat("(", 500_000) + `1"`},
		worstBody{"a template of conditions", "/automations/templates/validate", `"` + strings.Repeat("{% if a %}", 200_000) + `"`},
	)
}

// TestWorstBodiesOfTheAPITakeMemoryInProportion posts the worst body of each parser behind the API. The allocation of the process for it stays within a factor of the body, and the answer is the client's error or a success.
func TestWorstBodiesOfTheAPITakeMemoryInProportion(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	s := start(t, t.TempDir())
	const (
		factor = 60
		noise  = 64 << 20 // Of background work, and of the budget of a template.
	)
	for _, c := range worstBodies() {
		var status int
		var text []byte
		allocated := allocatedBy(func() { status, text = s.postRaw(c.path, c.body) })
		if status >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", c.name, status, text)
		}
		if bound := noise + factor*len(c.body); allocated > bound {
			t.Errorf("%s: a body of %d kB makes the process allocate %d kB, more than %d", c.name, len(c.body)>>10, allocated>>10, bound>>10)
		}
	}
}

// TestWorstFramesTakeMemoryInProportion does the same by messages of the websocket of events.
func TestWorstFramesTakeMemoryInProportion(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	s := start(t, t.TempDir())
	const (
		frame  = 1_400_000
		factor = 60
		noise  = 64 << 20
	)
	for name, payload := range map[string]string{
		"objects": "[" + strings.Repeat("{},", frame/3-100) + "{}]", "nesting": strings.Repeat("[", frame/2) + strings.Repeat("]", frame/2),
		"escapes": `"` + strings.Repeat(`\u0000`, frame/6) + `"`, "a text": `"` + strings.Repeat("x", frame) + `"`, "digits": strings.Repeat("9", frame),
	} {
		event := `{"type": "event", "event": {"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {"p": ` + payload + `}}}`
		allocated := allocatedBy(func() {
			socket, _, err := websocket.Dial(t.Context(), //nolint:bodyclose // The library says that the body of an upgrade is never closed.
				"ws"+strings.TrimPrefix(s.api, "http")+"/events/in", &websocket.DialOptions{Subprotocols: []string{"prefect"}})
			require.NoError(t, err)
			defer socket.CloseNow()
			require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(`{"type": "auth", "token": null}`)))
			_, _, err = socket.Read(t.Context())
			require.NoError(t, err)
			require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(event)))
			_ = socket.Close(websocket.StatusNormalClosure, "") // It waits until the server has read the message.
		})
		if bound := noise + factor*len(event); allocated > bound {
			t.Errorf("%s: a message of %d kB makes the process allocate %d kB, more than %d", name, len(event)>>10, allocated>>10, bound>>10)
		}
	}
}

// allocatedBy returns the bytes that the process allocates while a function runs.
func allocatedBy(run func()) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// postRaw posts a body and returns the status and the begin of the answer.
func (s *server) postRaw(path, body string) (status int, text []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.api+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, 200))
	require.NoError(s.t, err)
	return response.StatusCode, text
}
