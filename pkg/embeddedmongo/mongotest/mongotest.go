// Package mongotest gives tests a database of their own: on the MongoDB server that ORCH_TEST_MONGODB_URI names, else on an
// embedded server. Tests log which one it was.
package mongotest

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// Variable names a MongoDB server for tests by its connection string.
const Variable = "ORCH_TEST_MONGODB_URI"

// commandNotFound is the server's code for a command that it does not have.
const commandNotFound = 59

// Database is a database that lives as long as its test.
type Database struct {
	URI, Name string
	// Dialer reaches the embedded server; nil means TCP.
	Dialer options.ContextDialer
	// AppName is that of clients whose commands FailCommands makes fail.
	AppName string

	tb     testing.TB
	once   sync.Once
	client *mongo.Client
}

// Open returns an empty database. The options are those of the embedded server.
func Open(tb testing.TB, o embeddedmongo.Options) *Database {
	tb.Helper()
	unique := strings.ReplaceAll(uuid.NewString(), "-", "")
	d := &Database{URI: os.Getenv(Variable), Name: "orchtest_" + unique, AppName: unique, tb: tb}
	if d.URI == "" {
		server, err := embeddedmongo.Open(tb.TempDir(), o)
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, server.Close()) })
		d.URI, d.Dialer = server.URI(), server.ContextDialer()
		tb.Log("database: the embedded store")
		return d
	}
	tb.Log("database: the MongoDB server of " + Variable)
	database := d.Connect()
	tb.Cleanup(func() { require.NoError(tb, database.Drop(context.WithoutCancel(tb.Context()))) })
	return d
}

// Connect returns the database by a client that ends with the test.
func (d *Database) Connect() *mongo.Database {
	d.tb.Helper()
	d.once.Do(func() {
		o := options.Client().ApplyURI(d.URI)
		if d.Dialer != nil {
			o.SetDialer(d.Dialer)
		}
		var err error
		d.client, err = mongo.Connect(o)
		require.NoError(d.tb, err)
		d.tb.Cleanup(func() { require.NoError(d.tb, d.client.Disconnect(context.WithoutCancel(d.tb.Context()))) })
	})
	return d.client.Database(d.Name)
}

// FailCommands sets the fail point failCommand for clients of AppName, until the test ends. The embedded server needs
// Options.TestCommands; a MongoDB server without them skips the test. A mode of "off" ends it.
func (d *Database) FailCommands(tb testing.TB, mode any, data bson.D) {
	tb.Helper()
	admin := d.Connect().Client().Database("admin")
	if d.Dialer == nil { // The embedded server belongs to the test.
		data = append(data, bson.E{Key: "appName", Value: d.AppName})
	}
	set := func(ctx context.Context, mode any) error {
		return admin.RunCommand(ctx, bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode}, {Key: "data", Value: data},
		}).Err()
	}
	err := set(tb.Context(), mode)
	if refused, ok := err.(mongo.CommandError); ok && refused.Code == commandNotFound {
		tb.Skip("the MongoDB server has no test commands: start mongod with --setParameter enableTestCommands=1")
	}
	require.NoError(tb, err)
	if mode != "off" {
		tb.Cleanup(func() { require.NoError(tb, set(context.WithoutCancel(tb.Context()), "off")) })
	}
}
