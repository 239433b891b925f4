package mongod

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "mongod")
	require.NoError(t, os.WriteFile(program, nil, 0o700))

	t.Run("named", func(t *testing.T) {
		t.Setenv(Variable, program)
		t.Setenv("PATH", "")
		found, err := Find()
		require.NoError(t, err)
		require.Equal(t, program, found)
	})
	t.Run("on PATH", func(t *testing.T) {
		t.Setenv(Variable, "")
		t.Setenv("PATH", dir)
		found, err := Find()
		require.NoError(t, err)
		require.Equal(t, program, found)
	})
	t.Run("missing", func(t *testing.T) {
		t.Setenv(Variable, "")
		t.Setenv("PATH", "")
		_, err := Find()
		require.ErrorIs(t, err, ErrMissing)
	})
	t.Run("a path without a program is not a missing server", func(t *testing.T) {
		t.Setenv(Variable, filepath.Join(dir, "absent"))
		_, err := Find()
		require.ErrorIs(t, err, os.ErrNotExist)
		require.NotErrorIs(t, err, ErrMissing)
	})
}

func TestStart(t *testing.T) {
	t.Parallel()
	t.Run("a program that ends", func(t *testing.T) {
		t.Parallel()
		_, err := Start(t.Context(), "/bin/false", t.TempDir())
		require.ErrorContains(t, err, "the server ended")
	})
	t.Run("a primary that executes majority writes", func(t *testing.T) {
		t.Parallel()
		program, err := Find()
		if err != nil {
			t.Skip(err)
		}
		s, err := Start(t.Context(), program, t.TempDir())
		require.NoError(t, err)
		defer s.Stop()
		client, err := mongo.Connect(options.Client().ApplyURI(s.URI))
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Disconnect(t.Context())) }()
		_, err = client.Database("test").Collection("c").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}})
		require.NoError(t, err)
	})
}
