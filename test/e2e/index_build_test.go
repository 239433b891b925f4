//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestIndexBuildDoesNotBlockTheStart upgrades a database with many events that lacks their indexes, as an upgrade that adds an index
// finds it. The server is ready while the indexes are built, and queries are right meanwhile. After a kill they begin again.
// ORCH_TEST_INDEX_EVENTS is the number of events.
func TestIndexBuildDoesNotBlockTheStart(t *testing.T) {
	events := 300_000
	if text := os.Getenv("ORCH_TEST_INDEX_EVENTS"); text != "" {
		var err error
		events, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dataDir := t.TempDir()
	infra := StartInfra(t, programs, dataDir)
	o := StartServices(t, programs, infra)
	c := &Client{HTTP: &http.Client{Timeout: startTimeout}, Ledger: NewLedger()}
	c.Publish(ctx, o, "template")
	require.Eventually(t, func() bool { return c.countEvents(ctx, o, "template") == 1 }, time.Minute, 50*time.Millisecond)
	for _, p := range o.Processes[1:] {
		require.NoError(t, p.Stop(time.Minute))
	}
	multiply(ctx, t, infra, events)

	began := time.Now()
	orchestration := o.Processes[1]
	start := func() {
		require.NoError(t, orchestration.Restart())
		_, err := orchestration.LineWith(ctx, "index build began")
		require.NoError(t, err)
	}
	start()
	for _, p := range o.Processes[2:] {
		require.NoError(t, p.Restart())
	}
	o.WaitReady(t)
	built := func() bool { return strings.Contains(orchestration.Output(), "indexes are built") }
	require.False(t, built(), "%d events are too few: the indexes were built before the server was ready", events)
	t.Logf("ready after %s with %d events", time.Since(began).Round(time.Millisecond), events)
	c.Publish(ctx, o, "meanwhile")
	require.Eventually(t, func() bool { return c.countEvents(ctx, o, "meanwhile") == 1 }, time.Minute, 50*time.Millisecond)

	require.False(t, built(), "%d events are too few: the kill must interrupt the builds", events)
	infra.Process.Kill()
	orchestration.Kill()
	require.NoError(t, infra.Process.Restart())
	began = time.Now()
	require.NoError(t, orchestration.Restart())
	o.WaitReady(t)
	_, err := orchestration.LineWith(ctx, "indexes are built")
	require.NoError(t, err)
	t.Logf("built after %s, after a kill", time.Since(began).Round(time.Millisecond))
	stored, err := storedEvents(t, infra).CountDocuments(ctx, bson.D{{Key: "event", Value: "template"}}) // The API's total has a bound.
	require.NoError(t, err)
	require.EqualValues(t, events+1, stored)
	require.Equal(t, 1, c.countEvents(ctx, o, "meanwhile"))
	o.Stop(t)
	out, err := exec.CommandContext(ctx, programs.Path("orch"), "doctor", "--data-dir", dataDir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// storedEvents returns the collection of events of a database.
func storedEvents(t *testing.T, infra *Infra) *mongo.Collection {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(infra.MongoURI()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Disconnect(context.WithoutCancel(t.Context()))) })
	return client.Database("orch").Collection("event")
}

// multiply copies the one event of a database, and drops the indexes of events.
func multiply(ctx context.Context, t *testing.T, infra *Infra, copies int) {
	t.Helper()
	collection := storedEvents(t, infra)
	var one bson.D
	require.NoError(t, collection.FindOne(ctx, bson.D{{Key: "event", Value: "template"}}).Decode(&one))
	_, err := collection.Indexes().List(ctx)
	require.NoError(t, err)
	require.NoError(t, collection.Indexes().DropAll(ctx))
	const batch = 1000
	for written := 0; written < copies; written += batch {
		docs := make([]any, min(batch, copies-written))
		for i := range docs {
			doc := append(bson.D(nil), one...)
			for n := range doc {
				if doc[n].Key == "_id" {
					id := uuid.New()
					doc[n].Value = bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]}
				}
			}
			docs[i] = doc
		}
		_, err := collection.InsertMany(ctx, docs)
		require.NoError(t, err, fmt.Sprint(written))
	}
}
