package transcode

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestRedactorIsNilWithoutInternalFields(t *testing.T) {
	t.Parallel()
	require.Nil(t, redactorOf((&orchv1.FlowCreate{}).ProtoReflect().Descriptor()))
}

// TestRedactorHidesInternalFields uses a page of events, which no request carries: what is stored of an event has
// internal fields below a list.
func TestRedactorHidesInternalFields(t *testing.T) {
	t.Parallel()
	rd := redactorOf((&orchv1.EventPage{}).ProtoReflect().Descriptor())
	require.Equal(t, redactor{"resource_id": true, "resource_ids": true, "shared_id": true, "traceparent": true, "tracestate": true}, rd)
	for sent, want := range map[string]string{
		`{"events":[{"id":1,"resource_id":"canary","n":1.50}],"total":1}`: `{"events":[{"id":1,"n":1.50}],"total":1}`,
		`{"resource\u005fids":["canary"]}`:                                `{}`,
		`[{"resource_id":{"a":[1]}},2]`:                                   `[{},2]`,
		`{"total":1}`:                                                     `{"total":1}`,
		`{"a":"\"resource_id\""}`:                                         `{"a":"\"resource_id\""}`,
		`"resource_id"`:                                                   `"resource_id"`,
		`{"resource_id":"canary"`:                                         ``,
		``:                                                                ``,
	} {
		require.Equal(t, want, string(rd.body([]byte(sent))), sent)
	}
}

func TestRedactorHidesInternalFieldsOfErrors(t *testing.T) {
	t.Parallel()
	rd := redactor{"resource_id": true}
	fieldError := rpc.BodyError("extra_forbidden", "no", "resource_id")
	fieldError.Input = []byte(`"canary"`)
	whole := rpc.BodyError("model_type", "no")
	whole.Input = []byte(`{"resource_id":"canary","a":1}`)
	list := rd.fieldErrors([]*orchv1.FieldError{fieldError, whole})
	require.Empty(t, list[0].GetInput())
	require.Equal(t, `{"a":1}`, string(list[1].GetInput()))
}

func FuzzRedactor(f *testing.F) {
	f.Add([]byte(`{"a":[{"resource_id":"canary"}]}`))
	f.Add([]byte(`{"resource_i\u0064":1,"b":{}}`))
	rd := redactor{"resource_id": true}
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean := rd.body(raw)
		if !json.Valid(raw) || len(clean) == 0 {
			return
		}
		require.True(t, json.Valid(clean), "%s became %s", raw, clean)
		var value any
		decoder := json.NewDecoder(bytes.NewReader(clean))
		decoder.UseNumber() // A number may be out of any type.
		require.NoError(t, decoder.Decode(&value))
		require.False(t, has(value, "resource_id"), "%s became %s", raw, clean)
	})
}

func has(value any, key string) bool {
	switch v := value.(type) {
	case map[string]any:
		for k, member := range v {
			if k == key || has(member, key) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if has(item, key) {
				return true
			}
		}
	}
	return false
}
