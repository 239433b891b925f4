package events

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A value beyond the bound is omitted and named; a value at the bound is not.
func TestPayloadIsBounded(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("x", n-2) } // The JSON has two quotes.
	read := func(payload []byte, err error) (fields map[string]any) {
		t.Helper()
		require.NoError(t, err)
		require.Less(t, len(payload), 2*maxPayload)
		require.NoError(t, json.Unmarshal(payload, &fields))
		return fields
	}
	at := read(Payload(&orchv1.Flow{Name: text(maxPayloadValue)}, nil, "name", "tags"))
	require.Len(t, at["name"], maxPayloadValue-2)
	require.NotContains(t, at, "omitted_fields")
	above := read(Payload(&orchv1.Flow{Name: text(maxPayloadValue + 1)}, nil, "name", "tags"))
	require.Nil(t, above["name"])
	require.Equal(t, []any{"name"}, above["omitted_fields"])
	changed := read(Payload(&orchv1.Flow{Name: text(maxPayloadValue)}, &orchv1.Flow{Name: "before"}, "tags"))
	require.Equal(t, []any{"name"}, changed["updated_fields"])
	require.Empty(t, changed["updates"])
	require.Equal(t, []any{"name"}, changed["omitted_fields"])
}
