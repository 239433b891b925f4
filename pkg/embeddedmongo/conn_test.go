package embeddedmongo

import (
	"bufio"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/pipe"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// TestLongCommandOfClosedConnectionIsAbandoned closes a connection while a command runs.
func TestLongCommandOfClosedConnectionIsAbandoned(t *testing.T) {
	t.Parallel()
	client, server := pipe.New()
	watch, m := newWatch(bufio.NewReader(server)), &wire.Message{}
	watch.begin(m)
	require.False(t, m.Abandoned.Load())
	require.NoError(t, client.Close())
	require.Eventually(t, m.Abandoned.Load, time.Minute, time.Millisecond)
	watch.end()
	watch.wait()
}

// TestNextMessageAfterLongCommandIsRead sends the next message while a long command still runs.
func TestNextMessageAfterLongCommandIsRead(t *testing.T) {
	t.Parallel()
	client, server := pipe.New()
	r := bufio.NewReader(server)
	watch, m := newWatch(r), &wire.Message{}
	watch.begin(m)
	_, err := client.Write([]byte("next"))
	require.NoError(t, err)
	<-watch.peeked
	watch.peeked <- struct{}{}
	watch.end()
	watch.wait()
	require.False(t, m.Abandoned.Load())
	got := make([]byte, 4)
	_, err = r.Read(got)
	require.NoError(t, err)
	require.Equal(t, "next", string(got))
}

// TestAbandonedReadsEndAndWritesComplete executes commands whose clients have gone.
func TestAbandonedReadsEndAndWritesComplete(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	run := func(command bson.D) value.Doc {
		body, err := bson.Marshal(append(command, bson.E{Key: "$db", Value: "d"}))
		require.NoError(t, err)
		m := &wire.Message{Body: value.Doc(body)}
		m.Abandoned.Store(true)
		return s.service.Handle(t.Context(), 1, m)
	}
	docs := make(bson.A, 1000)
	for i := range docs {
		docs[i] = bson.D{{Key: "_id", Value: i}, {Key: "x", Value: 1}}
	}
	ok := func(reply value.Doc) float64 { return bson.Raw(reply).Lookup("ok").Double() }
	require.InDelta(t, 1, ok(run(bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})), 0)
	update := bson.D{{Key: "q", Value: bson.D{}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 2}}}}}, {Key: "multi", Value: true}}
	reply := run(bson.D{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{update}}})
	require.EqualValues(t, 1000, bson.Raw(reply).Lookup("nModified").AsInt64())
	group := bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$x"}}}}
	for _, read := range []bson.D{
		{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "x", Value: 3}}}},
		{{Key: "count", Value: "c"}, {Key: "query", Value: bson.D{{Key: "x", Value: 2}}}},
		{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{group}}, {Key: "cursor", Value: bson.D{}}},
	} {
		reply := run(read)
		require.Equal(t, "ClientDisconnect", bson.Raw(reply).Lookup("codeName").StringValue(), "%v", reply)
	}
}
