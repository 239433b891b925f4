package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// with returns a rendered event with more fields.
func with(fields string) string {
	return `{"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {}` + fields + `}`
}

func read(text string) (*orchv1.ReceivedEvent, error) {
	return readFrom(text, &receive.Request{Method: "GET", Received: at}, receive.Body{})
}

// readFrom reads the only event of a text.
func readFrom(text string, r *receive.Request, body receive.Body) (*orchv1.ReceivedEvent, error) {
	list, err := newEngine(vocabulary.Orch).Events(text, hook, r, body, uuid.Nil)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: an empty list", render.ErrEvent)
	}
	return list[0], nil
}

func TestOccurred(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`null`:                             at.Format(time.RFC3339Nano),
		`"2024-05-06T07:08:09Z"`:           "2024-05-06T07:08:09Z",
		`"2024-05-06t07:08:09.123456789z"`: "2024-05-06T07:08:09.123456Z",
		`"2024-05-06T07:08:09+02:00"`:      "2024-05-06T05:08:09Z",
		`"2024-05-06T07:08:09-0530"`:       "2024-05-06T12:38:09Z",
		`"2024-05-06 07:08:09"`:            "2024-05-06T07:08:09Z",
		`"2024-05-06_07:08:09"`:            "2024-05-06T07:08:09Z",
		`"2024-05-06T07:08"`:               "2024-05-06T07:08:00Z",
		`"2024-05-06"`:                     "2024-05-06T00:00:00Z",
		`1700000000`:                       "2023-11-14T22:13:20Z",
		`1700000000.123456`:                "2023-11-14T22:13:20.123456Z",
		`1.7e9`:                            "2023-11-14T22:13:20Z",
		`"1700000000"`:                     "2023-11-14T22:13:20Z",
		`"1700000000.5"`:                   "2023-11-14T22:13:20.5Z",
		`1700000000123`:                    "2023-11-14T22:13:20.123Z",
		`"1700000000123"`:                  "2023-11-14T22:13:20.123Z",
		`1700000000123.456`:                "2023-11-14T22:13:20.123456Z",
		`20000000000`:                      "2603-10-11T11:33:20Z",
		`20000000001`:                      "1970-08-20T11:33:20.001Z",
		`0`:                                "1970-01-01T00:00:00Z",
		`-1`:                               "1969-12-31T23:59:59Z",
		`-0.5`:                             "1969-12-31T23:59:59.5Z",
	} {
		e, err := read(with(`, "occurred": ` + value))
		require.NoError(t, err, value)
		require.Equal(t, want, e.GetOccurred().AsTime().Format(time.RFC3339Nano), value)
		require.Equal(t, at, e.GetReceived().AsTime())
	}
	for _, value := range []string{
		`"Mon, 06 May 2024 07:08:09 GMT"`, `"yesterday"`, `""`, `" 2024-05-06"`, `"2024-13-01"`, `"2024-02-30"`, `"2024-05-06T25:00:00Z"`, `"2024-05-06T07:08:09X"`,
		`true`, `[]`, `{}`, `1e300`, `-1e20`, `999999999999999999`, `"1e9"`, `"--1"`, `"."`, `"0001-01-01T00:00:00+14:00"`, `1` + strings.Repeat("0", 4000),
	} {
		_, err := read(with(`, "occurred": ` + value))
		require.ErrorIs(t, err, render.ErrEvent, value)
		require.ErrorContains(t, err, "occurred must be a time", value)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	const want = "0190f0f0-1111-7222-8333-4444aaaabbbb"
	for _, value := range []string{
		`"0190f0f0-1111-7222-8333-4444aaaabbbb"`, `"0190F0F0-1111-7222-8333-4444AAAABBBB"`, `"0190f0f01111722283334444aaaabbbb"`,
		`"{0190f0f0-1111-7222-8333-4444aaaabbbb}"`, `"urn:uuid:0190f0f0-1111-7222-8333-4444aaaabbbb"`,
	} {
		e, err := read(with(`, "id": ` + value + `, "follows": ` + value))
		require.NoError(t, err, value)
		require.Equal(t, want, e.GetId())
		require.Equal(t, want, e.GetFollows())
	}
	e, err := read(with(`, "id": null, "follows": null`))
	require.NoError(t, err)
	require.Nil(t, e.Follows)
	made, err := uuid.Parse(e.GetId())
	require.NoError(t, err)
	require.EqualValues(t, 7, made.Version())
	for _, value := range []string{
		`""`, `"x"`, `1`, `{}`, `"0190f0f0-1111-7222-8333-4444aaaabbb"`, `"(0190f0f0-1111-7222-8333-4444aaaabbbb)"`, `"0190f0f0-1111-7222-8333-4444aaaabbbg"`,
	} {
		for _, field := range []string{"id", "follows"} {
			_, err := read(with(`, "` + field + `": ` + value))
			require.ErrorContains(t, err, field+" must be a UUID", value)
		}
	}
	_, err = read(with(`, "id": "00000000-0000-0000-0000-000000000000"`))
	require.ErrorContains(t, err, "id must not be the nil UUID")
}

func TestFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"resource": {"orch.resource.id": "r"}}`:                "event is missing",
		`{"event": null, "resource": {"orch.resource.id": "r"}}`: "event must be a string, not null",
		`{"event": 1, "resource": {"orch.resource.id": "r"}}`:    "event must be a string, not a number",
		`{"event": "", "resource": {"orch.resource.id": "r"}}`:   "event: String should have at least 1 character",
		`{"event": "e"}`:                                                           "resource is missing",
		`{"event": "e", "resource": null}`:                                         "resource must be an object, not null",
		`{"event": "e", "resource": "r"}`:                                          "resource must be an object, not a string",
		`{"event": "e", "resource": {}}`:                                           "must include the orch.resource.id label",
		`{"event": "e", "resource": {"orch.resource.id": ""}}`:                     "orch.resource.id label must be non-empty",
		`{"event": "e", "resource": {"orch.resource.id": 1}}`:                      `label "orch.resource.id" of resource must be a string, not a number`,
		`{"event": "e", "resource": {"orch.resource.id": "r", "x": true}}`:         `label "x" of resource must be a string, not a boolean`,
		`{"event": "e", "resource": {"orch.resource.id": "r", "x": null}}`:         `label "x" of resource must be a string, not null`,
		`{"event": "e", "resource": {"prefect.resource.id": "r"}}`:                 "must include the orch.resource.id label",
		with(`, "related": null`):                                                  "related must be a list, not null",
		with(`, "related": {}`):                                                    "related must be a list, not an object",
		with(`, "related": [1]`):                                                   "an entry of related must be an object, not a number",
		with(`, "related": [{"orch.resource.id": "r"}]`):                           "related.0: Related Resources must include the orch.resource.role label",
		with(`, "related": [{"orch.resource.id": "r", "orch.resource.role": ""}]`): "orch.resource.role label must be non-empty",
		with(`, "payload": []`):                                                    "payload must be an object, not a list",
		with(`, "payload": "x"`):                                                   "payload must be an object, not a string",
		with(`, "payload": 1`):                                                     "payload must be an object, not a number",
		`"{}"`:                                                                     "it must be a JSON object, not a string",
		`null`:                                                                     "it must be a JSON object, not null",
		` `:                                                                        "it is empty",
		with("") + "x":                                                             "it is not JSON: line 1, column 69: unexpected text after the value",
	} {
		_, err := read(text)
		require.ErrorIs(t, err, render.ErrEvent, text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{}`:                     `{}`,
		`null`:                   `{"method":"GET","headers":{},"body":""}`,
		`{"a":1.50,"b":1,"a":2}`: `{"a":2,"b":1}`,
	} {
		e, err := read(with(`, "payload": ` + value))
		require.NoError(t, err)
		require.Equal(t, want, string(e.GetPayload()))
	}
	e, err := read(`{"event": "e", "resource": {"orch.resource.id": " "}}`)
	require.NoError(t, err)
	require.Equal(t, `{"method":"GET","headers":{},"body":""}`, string(e.GetPayload()))
}

func TestADeepBodyIsShownAsText(t *testing.T) {
	t.Parallel()
	deep := receive.Body{Text: strings.Repeat("[", 500) + strings.Repeat("]", 500)}
	e, err := readFrom(`{"event": "e", "resource": {"orch.resource.id": "r"}}`, &receive.Request{Method: "POST", Received: at}, deep)
	require.NoError(t, err)
	require.Contains(t, string(e.GetPayload()), `"body":"[[[`)
}

// FuzzEvent checks that every rendered text is refused or becomes an event that consumers can decode.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		with(""), with(`, "occurred": 1e9, "id": null, "payload": {"a": "\ud800"}`), `{"event": "e", "resource": {"orch.resource.id": "\u0000"}}`,
		with(`, "occurred": "9999-12-31T23:59:59.999999Z"`), with(`, "related": [{"orch.resource.id": "a", "orch.resource.role": "b"}]`), "[]", "{",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := read(text)
		if err != nil {
			require.ErrorIs(t, err, render.ErrEvent)
			return
		}
		b, err := events.ToBroker(vocabulary.Orch, e, uuid.Max)
		require.NoError(t, err)
		require.NoError(t, b.Validate())
		_, _, err = events.FromBroker(b)
		require.NoError(t, err)
	})
}
