package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// replicas are stores on one database of format 1, as an earlier version wrote it.
func replicas(t *testing.T, n int) []*Store {
	t.Helper()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	var all []*Store
	for range n {
		s, err := Open(t.Context(), Config{
			URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
		all = append(all, s)
	}
	require.NoError(t, all[0].claim(t.Context(), vocabulary.Orch, 1, nil))
	_, err := database.Connect().Collection("old").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}, {Key: "name", Value: "a"}})
	require.NoError(t, err)
	return all
}

// migrationJournal records which migrations ran.
type migrationJournal struct {
	mu   sync.Mutex
	runs []string
}

func (j *migrationJournal) step(from int64, name string, fails int) Migration {
	return Migration{From: from, Name: name, Do: func(ctx context.Context, s *Store) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.runs = append(j.runs, name)
		if fails--; fails >= 0 {
			return errors.New("interrupted")
		}
		_, err := s.db.Collection("old").UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$set", Value: bson.D{{Key: name, Value: true}}}})
		return err
	}}
}

// Migrations run once, in order, however many replicas start together. A server of the earlier version is refused afterwards.
func TestMigrationsRunOnce(t *testing.T) {
	t.Parallel()
	all := replicas(t, 4)
	var j migrationJournal
	steps := []Migration{j.step(1, "first", 0), j.step(2, "second", 0)}
	var group sync.WaitGroup
	for _, s := range all {
		group.Go(func() {
			if err := s.claim(t.Context(), vocabulary.Orch, 3, steps); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Equal(t, []string{"first", "second"}, j.runs)
	var doc bson.M
	require.NoError(t, all[0].db.Collection("old").FindOne(t.Context(), bson.D{}).Decode(&doc))
	require.Equal(t, true, doc["first"])
	require.Equal(t, true, doc["second"])

	err := all[0].claim(t.Context(), vocabulary.Orch, 2, steps[:1])
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "format 3, this server supports 2: install the newer version again")
	plan, err := all[0].PlanUpgrade(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, plan.Found)
}

// An interrupted migration is repeated, and the ones before it are not.
func TestMigrationIsRepeated(t *testing.T) {
	t.Parallel()
	s := replicas(t, 1)[0]
	var j migrationJournal
	steps := []Migration{j.step(1, "first", 0), j.step(2, "second", 1)}
	require.ErrorContains(t, s.claim(t.Context(), vocabulary.Orch, 3, steps), "migrate database from format 2 (second): interrupted")
	require.NoError(t, s.claim(t.Context(), vocabulary.Orch, 3, []Migration{j.step(1, "first", 0), j.step(2, "second", 0)}))
	require.Equal(t, []string{"first", "second", "second"}, j.runs)
}

// A replica that finds another vocabulary migrates nothing.
func TestMigrationNeedsTheVocabulary(t *testing.T) {
	t.Parallel()
	s := replicas(t, 1)[0]
	var j migrationJournal
	require.ErrorIs(t, s.claim(t.Context(), vocabulary.Prefect, 2, []Migration{j.step(1, "first", 0)}), ErrFormat)
	require.Empty(t, j.runs)
}

// Every format up to that of this program has one migration to the next.
func TestMigrationsAreComplete(t *testing.T) {
	t.Parallel()
	var from []int64
	for _, step := range migrations {
		from = append(from, step.From)
		require.NotEmpty(t, step.Name)
	}
	require.True(t, slices.IsSorted(from))
	require.Len(t, from, FormatVersion-1)
}
