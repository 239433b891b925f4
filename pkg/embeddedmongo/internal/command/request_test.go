package command

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// option is the value of the one field of a document in extended JSON, missing when it has none.
func option(t *testing.T, s string) value.Value {
	t.Helper()
	var d bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(s), false, &d), s)
	return value.DocOf(d).Get("v")
}

func TestWriteConcernsThatWaitForTheDisk(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		`{}`:        true,
		`{"v": {}}`: true,
		`{"v": {"w": "majority", "wtimeout": 500}}`: true,
		`{"v": {"w": 1, "j": true}}`:                true,
		`{"v": {"w": 1, "j": false}}`:               false,
		`{"v": {"w": 0}}`:                           false,
		`{"v": {"w": 0, "j": true}}`:                false,
	} {
		got, err := journal(option(t, s))
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{`{"v": 1}`, `{"v": {"w": 2}}`, `{"v": {"w": -1}}`, `{"v": {"w": "rack"}}`, `{"v": {"fsync": true}}`} {
		_, err := journal(option(t, s))
		require.Error(t, err, s)
	}
}

func TestReadConcernsAndCollations(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{
		`{"v": {}}`: true, `{"v": {"level": "majority"}}`: true, `{"v": {"level": "local", "provenance": "x"}}`: true,
		`{"v": {"level": "snapshot"}}`: false, `{"v": {"afterClusterTime": 1}}`: false, `{"v": "majority"}`: false,
	} {
		require.Equal(t, ok, checkReadConcern(option(t, s)) == nil, s)
	}
	for s, ok := range map[string]bool{
		`{"v": {}}`: true, `{"v": {"locale": "simple"}}`: true,
		`{"v": {"locale": "de"}}`: false, `{"v": {"locale": "simple", "strength": 1}}`: false, `{"v": 1}`: false,
	} {
		require.Equal(t, ok, checkCollation(option(t, s)) == nil, s)
	}
}
