package query

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// parse parses a filter as a request would contain it.
func parse[M proto.Message](tb testing.TB, m M, text string) M {
	tb.Helper()
	require.NoError(tb, restjson.Unmarshal([]byte(text), m))
	return m
}

// canonical formats a MongoDB filter as text that distinguishes types.
func canonical(tb testing.TB, d bson.D) string {
	tb.Helper()
	text, err := bson.MarshalExtJSON(d, true, false)
	require.NoError(tb, err)
	return string(text)
}
