package eventtypes

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
)

// asyncAPISchema compiles the published schema of AsyncAPI documents, version 3.0.0 (Apache License 2.0, asyncapi/spec-json-schemas).
func asyncAPISchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("testdata/asyncapi-3.0.0.json.gz")
	require.NoError(t, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(text)
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("urn:asyncapi", doc))
	schema, err := c.Compile("urn:asyncapi")
	require.NoError(t, err)
	return schema
}

func TestTheAsyncAPIDocumentIsValid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema := asyncAPISchema(t)
	read := func(prefix string) map[string]any {
		document, err := w.ReadAsyncAPI(requesttest.Incoming(t, w.ws), &orchv1.ReadAsyncAPIRequest{Prefix: prefix})
		require.NoError(t, err)
		var value map[string]any
		require.NoError(t, json.Unmarshal(document.GetDocument(), &value))
		require.NoError(t, schema.Validate(value))
		return value
	}
	read("")
	w.observe("order.paid", `{"total":1}`)
	w.observe("order_sent/ü", `{"at":"2026-01-02T03:04:05Z","lines":[{"n":1.5}]}`)
	w.observe("shop.opened")
	w.Record(t.Context())
	require.EqualValues(t, 200, w.pin("shop.opened", `{"$defs":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`))
	messages, _ := read("")["components"].(map[string]any)["messages"].(map[string]any)
	require.Len(t, messages, 3)
	require.Equal(t, "order_sent/ü", messages["order_5fsent_2f_c3_bc"].(map[string]any)["name"])

	text, err := json.Marshal(messages["order.paid"])
	require.NoError(t, err)
	require.Contains(t, string(text), `{"event":{"const":"order.paid"},"payload":{"properties":{"total":{"type":"integer"}},"required":["total"],"type":"object"}}`)
	text, err = json.Marshal(messages["shop.opened"])
	require.NoError(t, err)
	require.Contains(t, string(text), `"$id":"urn:uuid:`)
	messages, _ = read("order.")["components"].(map[string]any)["messages"].(map[string]any)
	require.Len(t, messages, 1)
}
