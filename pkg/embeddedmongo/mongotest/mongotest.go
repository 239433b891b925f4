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
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

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

	tb      testing.TB
	once    sync.Once
	client  *mongo.Client
	failing bool // The database has failPoint.
}

// failPoint is that of a MongoDB server, which has one failCommand for all its clients: only one test sets it at a time.
var failPoint sync.Mutex

// Open returns an empty database. The options are those of the embedded server.
func Open(tb testing.TB, o embeddedmongo.Options) *Database {
	tb.Helper()
	uri := os.Getenv(Variable)
	if uri == "" {
		return Embedded(tb, o)
	}
	d := newDatabase(tb)
	d.URI = polling(uri)
	tb.Log("database: the MongoDB server of " + Variable)
	database := d.Connect()
	tb.Cleanup(func() { require.NoError(tb, database.Drop(context.WithoutCancel(tb.Context()))) })
	return d
}

// Embedded returns an empty database of an embedded server, whatever the environment.
func Embedded(tb testing.TB, o embeddedmongo.Options) *Database {
	tb.Helper()
	server, err := embeddedmongo.Open(tb.TempDir(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, server.Close()) })
	d := newDatabase(tb)
	d.URI, d.Dialer = server.URI(), server.ContextDialer()
	tb.Log("database: the embedded store")
	return d
}

// polling adds options by which a driver soon finds again a server that only seemed to step down, by a fail point: one that streams its
// state has no news then for ten seconds.
func polling(uri string) string {
	const how = "serverMonitoringMode=poll&heartbeatFrequencyMS=500"
	switch _, after, _ := strings.Cut(uri, "://"); {
	case strings.Contains(after, "?"):
		return uri + "&" + how
	case strings.Contains(after, "/"):
		return uri + "?" + how
	}
	return uri + "/?" + how
}

func newDatabase(tb testing.TB) *Database {
	unique := strings.ReplaceAll(uuid.NewString(), "-", "")
	return &Database{Name: "orchtest_" + unique, AppName: unique, tb: tb}
}

// Connect returns the database by a client that ends with the test.
func (d *Database) Connect() *mongo.Database {
	d.tb.Helper()
	d.once.Do(func() {
		// A read with majority concern has only the writes that a majority confirmed, also in a set of one member.
		o := options.Client().ApplyURI(d.URI).SetWriteConcern(writeconcern.Majority())
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
	if d.Dialer == nil && !d.failing && mode != "off" {
		failPoint.Lock()
		d.failing = true
	}
	off := func() error {
		if d.Dialer == nil {
			if !d.failing {
				return nil // Another test may have the fail point now.
			}
			defer failPoint.Unlock()
			d.failing = false
		}
		return set(context.WithoutCancel(tb.Context()), "off")
	}
	if mode == "off" {
		require.NoError(tb, off())
		return
	}
	err := set(tb.Context(), mode)
	if refused, ok := err.(mongo.CommandError); ok && refused.Code == commandNotFound {
		_ = off()
		tb.Skip("the MongoDB server has no test commands: start mongod with --setParameter enableTestCommands=1")
	}
	tb.Cleanup(func() { require.NoError(tb, off()) })
	require.NoError(tb, err)
}
