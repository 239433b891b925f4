package cli_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/cli"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// An hour whose counts differ from its documents is named, and an error; --fix repairs it, and the next check finds it sound.
func TestDoctorCountsStoredHoursAgain(t *testing.T) {
	opened, err := datadir.Open(t.TempDir(), vocabulary.Orch)
	require.NoError(t, err)
	require.NoError(t, opened.Mark(opened.Vocabulary))
	hour := time.Now().Add(-48 * time.Hour).Truncate(time.Hour)
	ws, number := uuid.New(), uint64(hour.UnixMicro()/time.Hour.Microseconds())
	id := binary.BigEndian.AppendUint64(append(ws[:len(ws):len(ws)], 'f'), number^(1<<63))
	write(t, opened.Store(), map[string]bson.D{
		"flow_run": {
			{Key: "_id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: ws[:]}},
			{Key: "ws", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: ws[:]}},
			{Key: "expected_start_time", Value: hour.Add(time.Minute).UnixMicro()},
			{Key: "state", Value: bson.D{{Key: "type", Value: "COMPLETED"}, {Key: "name", Value: "Completed"}}},
		},
		"hour_total": {{Key: "_id", Value: bson.Binary{Data: id}}, {Key: "rows", Value: bson.A{}}, {Key: "counted", Value: hour.UnixMicro()}},
	})
	doctor := func(args ...string) (string, int) {
		out, err := orch(t, "", append([]string{"doctor", "--data-dir", opened.Path, "--totals"}, args...)...)
		return out, cli.ExitCode(err)
	}
	out, code := doctor()
	require.Equal(t, 1, code)
	require.Contains(t, out, hour.UTC().Format(time.RFC3339)+" of flow_runs in workspace "+ws.String()+" differs")
	require.Contains(t, out, "hours 1, 1 differ")
	out, code = doctor("--since", "24h")
	require.Zero(t, code)
	require.Contains(t, out, "hours 0, as their documents")
	out, code = doctor("--fix")
	require.Zero(t, code)
	require.Contains(t, out, "hours 1, 1 repaired")
	out, code = doctor()
	require.Zero(t, code)
	require.Contains(t, out, "hours 1, as their documents")

	_, err = orch(t, "", "doctor", "--data-dir", opened.Path, "--fix")
	require.Equal(t, 2, cli.ExitCode(err))
}

// write stores documents by collection in a store that no process uses.
func write(t *testing.T, dir string, documents map[string]bson.D) {
	t.Helper()
	server, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	ctx := context.WithoutCancel(t.Context())
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()).SetDialer(server.ContextDialer()))
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Disconnect(ctx)) }()
	for collection, d := range documents {
		_, err := client.Database("orch").Collection(collection).InsertOne(ctx, d)
		require.NoError(t, err)
	}
}
