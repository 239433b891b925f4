package embeddedmongo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// failCommand is the command that sets the fail point.
func failCommand(mode any, data bson.D) bson.D {
	return bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode}, {Key: "data", Value: data}}
}

func times(n int) bson.D { return bson.D{{Key: "times", Value: n}} }

func TestFailPointFailsCommands(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true, TestCommands: true})
	admin, c := cl.Database("admin"), cl.Database("db").Collection("c")
	insert := func(id int) error {
		_, err := c.InsertOne(t.Context(), bson.D{{Key: "_id", Value: id}})
		return err
	}
	stored := func() int64 {
		n, err := c.CountDocuments(t.Context(), bson.D{})
		require.NoError(t, err)
		return n
	}
	set := func(mode any, data ...bson.E) {
		t.Helper()
		data = append(data, bson.E{Key: "failCommands", Value: bson.A{"insert"}})
		require.NoError(t, admin.RunCommand(t.Context(), failCommand(mode, data)).Err())
	}

	set(times(1), bson.E{Key: "errorCode", Value: 112}, bson.E{Key: "errorLabels", Value: bson.A{"Some"}})
	var refused mongo.ServerError
	require.ErrorAs(t, insert(1), &refused)
	require.True(t, refused.HasErrorCode(112) && refused.HasErrorLabel("Some"))
	require.Zero(t, stored(), "a failed command is not executed")
	require.NoError(t, insert(1), "once")

	set(bson.D{{Key: "skip", Value: 1}}, bson.E{Key: "errorCode", Value: 50})
	require.NoError(t, insert(2))
	for id := range 3 {
		require.Error(t, insert(10+id))
	}
	var reply struct{ Count int }
	require.NoError(t, admin.RunCommand(t.Context(), failCommand("off", nil)).Decode(&reply))
	require.Equal(t, 3, reply.Count)
	require.NoError(t, insert(3))

	set(times(1), bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "waiting"}}})
	var unconfirmed mongo.WriteException
	require.ErrorAs(t, insert(4), &unconfirmed)
	require.Equal(t, 64, unconfirmed.WriteConcernError.Code)
	require.Equal(t, int64(4), stored(), "an unconfirmed write is executed")

	set(times(1), bson.E{Key: "closeConnection", Value: true})
	require.True(t, mongo.IsNetworkError(insert(5)))
	require.Equal(t, int64(4), stored())
}

func TestFailPointIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		opts     embeddedmongo.Options
		database string
		command  bson.D
		code     int
	}{
		"test commands are off": {embeddedmongo.Options{}, "admin", failCommand("off", nil), 59},
		"another database":      {embeddedmongo.Options{TestCommands: true}, "db", failCommand("off", nil), 13},
		"another fail point":    {embeddedmongo.Options{TestCommands: true}, "admin", bson.D{{Key: "configureFailPoint", Value: "x"}, {Key: "mode", Value: "off"}}, 238},
		"another mode":          {embeddedmongo.Options{TestCommands: true}, "admin", failCommand("sometimes", nil), 238},
		"a negative number":     {embeddedmongo.Options{TestCommands: true}, "admin", failCommand(times(-1), nil), 238},
		"another option": {
			embeddedmongo.Options{TestCommands: true}, "admin", failCommand("off", bson.D{{Key: "blockConnection", Value: true}}), 238,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.opts.NoSync = true
			_, cl := start(t, t.TempDir(), c.opts)
			var refused mongo.ServerError
			require.ErrorAs(t, cl.Database(c.database).RunCommand(t.Context(), c.command).Err(), &refused)
			require.True(t, refused.HasErrorCode(c.code), "%v", refused)
		})
	}
}
