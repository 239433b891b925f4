package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestOutageOfOneCommand steps the primary down once, under commands that the driver does not retry by itself: the store executes
// them on the next primary.
func TestOutageOfOneCommand(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true, TestCommands: true})
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) { o.SetAppName(database.AppName) },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	stepDown := func(command string) {
		database.FailCommands(t, bson.D{{Key: "times", Value: 1}}, bson.D{
			{Key: "failCommands", Value: bson.A{command}}, {Key: "errorCode", Value: 189},
		})
	}
	c, ws := flows(s), uuid.New()
	docs := make([]bson.Raw, 10)
	for i := range docs {
		docs[i], err = store.NewDocument(ws, &orchv1.Flow{Id: uuid.NewString(), Name: uuid.NewString()}, s.Now().AddDate(1, 0, 0))
		require.NoError(t, err)
	}
	require.NoError(t, c.InsertNew(t.Context(), docs[:5]))
	stepDown("insert")
	require.NoError(t, c.InsertNew(t.Context(), docs), "half of them are stored already")
	stepDown("count")
	n, err := c.Count(t.Context(), ws, store.Query{})
	require.NoError(t, err)
	require.Equal(t, int64(len(docs)), n)
}
