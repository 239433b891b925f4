package mongotest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestDatabasesAreApart: each test has a database of its own, also on a server that several tests share.
func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	one, other := mongotest.Open(t, embeddedmongo.Options{}), mongotest.Open(t, embeddedmongo.Options{})
	require.NotEqual(t, one.Name, other.Name)
	_, err := one.Connect().Collection("c").InsertOne(t.Context(), bson.M{"_id": 1})
	require.NoError(t, err)
	n, err := other.Connect().Collection("c").CountDocuments(t.Context(), bson.M{})
	require.NoError(t, err)
	require.Zero(t, n)
	first, second := one.Connect(), one.Connect()
	require.Same(t, first.Client(), second.Client(), "one client for all callers")
}

// TestFailCommands: the fail point fails the commands that it names until it is off.
func TestFailCommands(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{TestCommands: true})
	if database.Dialer == nil {
		t.Skip("a shared server fails the commands of one application name only")
	}
	c := database.Connect().Collection("c")
	const interrupted = 11601
	database.FailCommands(t, "alwaysOn", bson.D{{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "errorCode", Value: interrupted}})
	_, err := c.InsertOne(t.Context(), bson.M{"_id": 1})
	var failure mongo.ServerError
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.HasErrorCode(interrupted), "%v", err)
	database.FailCommands(t, "off", nil)
	_, err = c.InsertOne(t.Context(), bson.M{"_id": 1})
	require.NoError(t, err)
}
