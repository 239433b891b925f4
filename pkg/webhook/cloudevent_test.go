package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook"
)

// render renders a template with a body, which is JSON, and headers.
func render(tb testing.TB, template, body string, headers ...[2]string) (string, error) {
	tb.Helper()
	value, err := jinja.FromJSON(body)
	require.NoError(tb, err)
	t, err := webhook.NewEngine(webhook.Options{}).Compile(template)
	require.NoError(tb, err)
	return t.Render(tb.Context(), jinja.Vars{"body": value, "headers": jinja.CaseInsensitiveDict(headers)})
}

const filter = "{{ body|from_cloud_event(headers) }}"

func TestBinaryAndStructuredAreTheSameEvent(t *testing.T) {
	t.Parallel()
	binary, err := render(t, filter, `{"a": [1, "é"]}`, [2]string{"Content-Type", "application/json"}, [2]string{"CE-SpecVersion", "1.0"},
		[2]string{"ce-id", "1"}, [2]string{"ce-source", "/s"}, [2]string{"ce-subject", "x%20%C3%A9"}, [2]string{"ce-type", "t"},
		[2]string{"ce-time", "2026-01-02T03:04:05Z"}, [2]string{"ce-ext", "y"})
	require.NoError(t, err)
	structured, err := render(t, filter, `{"specversion": "1.0", "id": "1", "source": "/s", "subject": "x é", "type": "t", "time": "2026-01-02T03:04:05Z",
		"ext": "y", "datacontenttype": "application/json", "data": {"a": [1, "é"]}}`, [2]string{"Content-Type", "application/cloudevents+json"})
	require.NoError(t, err)
	require.JSONEq(t, structured, binary)
	require.JSONEq(t, `{"event": "t", "occurred": "2026-01-02T03:04:05Z", "resource": {"orch.resource.id": "x é"}, "payload": {
		"data": {"a": [1, "é"]},
		"cloudevents": {"specversion": "1.0", "id": "1", "source": "/s", "subject": "x é", "type": "t", "time": "2026-01-02T03:04:05Z", "ext": "y",
			"datacontenttype": "application/json"}}}`, binary)
}

func TestTheHeaderDecidesTheMode(t *testing.T) {
	t.Parallel()
	got, err := render(t, "{% set e = body|from_cloud_event(headers) %}{{ e.event }} {{ e.payload.data.type }}",
		`{"specversion": "1.0", "id": "1", "source": "/s", "type": "inner"}`,
		[2]string{"ce-specversion", "1.0"}, [2]string{"ce-id", "1"}, [2]string{"ce-source", "/s"}, [2]string{"ce-type", "outer"})
	require.NoError(t, err)
	require.Equal(t, "outer inner", got)
}

func TestInvalidCloudEvents(t *testing.T) {
	t.Parallel()
	const good = `"specversion": "1.0", "id": "1", "source": "/s", "type": "t"`
	for template, bodies := range map[string]map[string]string{
		filter: {
			`{}`:                           "the request is no CloudEvent",
			`"specversion"`:                "the request is no CloudEvent",
			`[{` + good + `}]`:             "one request is one event",
			`{"specversion": ""}`:          "specversion is missing",
			`{"specversion": 1.0}`:         "specversion is missing or no text",
			`{"specversion": "1.0"}`:       "id is missing",
			`{` + good + `, "type": null}`: "type is missing",
			`{` + good + `, "data": 1, "data_base64": "eA=="}`: "both data and data_base64",
			`{` + good + `, "data_base64": 1}`:                 "data_base64 is no text",
			`{` + good + `, "data_base64": "!"}`:               "data_base64 is not base64",
		},
		"{{ body|from_cloud_event }}":         {`{` + good + `}`: "takes the request's headers"},
		"{{ body|from_cloud_event('text') }}": {`{` + good + `}`: "takes the request's headers"},
	} {
		for body, want := range bodies {
			_, err := render(t, template, body)
			require.ErrorContains(t, err, want, body)
		}
	}
	_, err := render(t, filter, `[{`+good+`}]`, [2]string{"Content-Type", "Application/CloudEvents-Batch+JSON; charset=utf-8"})
	require.ErrorContains(t, err, "a batch")
}

func TestNamesFollowTheVocabulary(t *testing.T) {
	t.Parallel()
	engine := webhook.NewEngine(webhook.Options{Vocabulary: vocabulary.Prefect})
	compiled, err := engine.Compile(filter)
	require.NoError(t, err)
	body, err := jinja.FromJSON(`{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}`)
	require.NoError(t, err)
	got, err := compiled.Render(t.Context(), jinja.Vars{"body": body, "headers": jinja.CaseInsensitiveDict(nil)})
	require.NoError(t, err)
	require.Contains(t, got, `{"`+vocabulary.Prefect.ResourceID()+`":"/s"}`)
}

// FuzzCloudEvent makes sure that whatever is posted is an error or prints as a JSON object with the parts of an event.
func FuzzCloudEvent(f *testing.F) {
	f.Add(`{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data_base64": "eA=="}`, "", "")
	f.Add(`[1]`, "1.0", `"q\"uoted%C3"`)
	f.Add(`{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "time": null, "datacontenttype": "text/json", "data_base64": "e30"}`, "", "%zz%")
	f.Fuzz(func(t *testing.T, body, version, attribute string) {
		if _, err := jinja.FromJSON(body); err != nil {
			return
		}
		headers := [][2]string{{"ce-id", attribute}, {"ce-source", "s" + attribute}, {"ce-type", "t"}, {"ce-" + attribute, attribute}}
		if version != "" {
			headers = append(headers, [2]string{"ce-specversion", version})
		}
		got, err := render(t, filter, body, headers...)
		if err != nil {
			return
		}
		if strings.Contains(got, "Infinity") { // As Python prints a number beyond the range; the parser of events refuses it.
			return
		}
		var event struct {
			Event    string
			Resource map[string]string
			Payload  map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(got), &event), got)
		require.NotEmpty(t, event.Event)
		require.NotEmpty(t, event.Resource[vocabulary.Orch.ResourceID()])
		require.Contains(t, event.Payload, "data")
		require.Contains(t, event.Payload, "cloudevents")
	})
}
