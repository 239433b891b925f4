package embeddedmongo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

func TestInsertAndFind(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	require.NoError(t, cl.Ping(ctx, nil))
	c := cl.Database("d").Collection("c")
	_, err := c.InsertOne(ctx, bson.M{"_id": 1, "a": "x"})
	require.NoError(t, err)
	var d bson.M
	require.NoError(t, c.FindOne(ctx, bson.M{"a": "x"}).Decode(&d))
	require.Equal(t, bson.M{"_id": int32(1), "a": "x"}, d)
}
