package blocks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
)

// FuzzSchema computes the checksum of a client's schema. It ends, and does not depend on how the schema is written.
func FuzzSchema(f *testing.F) {
	f.Add(`{"title":"A","properties":{"a":{"$ref":"#/definitions/B"}},"definitions":{"B":{"type":"string"}},"secret_fields":["a"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := jsontree.ParseObject([]byte(text))
		if err != nil {
			return
		}
		again, err := jsontree.ParseObject(jsontree.Text(fields))
		require.NoError(t, err)
		require.Equal(t, Checksum(fields), Checksum(again))
	})
}
