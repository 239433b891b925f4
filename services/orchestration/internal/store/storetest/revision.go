package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// tag is a change that adds a tag.
func tag(current *orchv1.Flow, tag string) *store.Change[*orchv1.Flow] {
	next := proto.CloneOf(current)
	next.Tags = append(next.Tags, tag)
	return &store.Change[*orchv1.Flow]{Message: next}
}

// idsOfDeletedDocumentsStartOtherVersions: a document is deleted, and another one is created with its id and so with its revision
// number. No write that was decided on the first one may change the second one.
func idsOfDeletedDocumentsStartOtherVersions(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	for name, write := range map[string]func(t *testing.T, key uuid.UUID, meanwhile func()){
		"Mutate": func(t *testing.T, key uuid.UUID, meanwhile func()) {
			t.Helper()
			decisions := 0
			_, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
				if decisions++; decisions == 1 {
					meanwhile()
				}
				return tag(current, "changed"), nil
			})
			require.NoError(t, err)
			require.Equal(t, 2, decisions)
		},
		"Delete": func(t *testing.T, key uuid.UUID, meanwhile func()) {
			t.Helper()
			decisions := 0
			require.NoError(t, c.Delete(t.Context(), ws, key, func(*orchv1.Flow) ([]store.Effect, error) {
				if decisions++; decisions == 1 {
					meanwhile()
				}
				return nil, nil
			}))
			require.Equal(t, 2, decisions)
		},
		"ReplaceAll": func(t *testing.T, _ uuid.UUID, meanwhile func()) {
			t.Helper()
			read, err := store.FindVersions(t.Context(), c, ws, bson.D{{Key: "tags", Value: "first"}})
			require.NoError(t, err)
			meanwhile()
			_, complete, err := store.ReplaceAll(t.Context(), c, ws, []store.Replacement[*orchv1.Flow]{{Read: read[0], Next: tag(read[0].Message, "changed").Message}})
			require.NoError(t, err)
			require.False(t, complete)
		},
		"ChangeAll": func(t *testing.T, _ uuid.UUID, meanwhile func()) {
			t.Helper()
			read, err := c.FindAcross(t.Context(), store.Query{Filter: bson.D{{Key: "ws", Value: store.Binary(ws)}, {Key: "tags", Value: "first"}}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: 1})
			require.NoError(t, err)
			meanwhile()
			lost, err := store.ChangeAll(t.Context(), c, []store.Update[*orchv1.Flow]{{Read: read[0], Change: tag(read[0].Message, "changed")}})
			require.NoError(t, err)
			require.Equal(t, []int{0}, lost)
		},
		"DeleteVersions": func(t *testing.T, _ uuid.UUID, meanwhile func()) {
			t.Helper()
			read, err := store.Oldest(t.Context(), c, ws, bson.D{{Key: "tags", Value: "first"}}, "name", false, []string{"name"}, 1)
			require.NoError(t, err)
			meanwhile()
			boxes, err := store.DeleteVersions(t.Context(), c, ws, read, func(*orchv1.Flow) []store.Effect { return nil })
			require.NoError(t, err)
			require.Empty(t, boxes)
		},
	} {
		t.Run(name, func(t *testing.T) {
			key := uuid.New()
			require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: key.String(), Tags: []string{"first"}}))
			write(t, key, func() {
				require.NoError(t, c.Delete(t.Context(), ws, key, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }))
				require.NoError(t, s.Remove(t.Context(), query.Flow, key))
				require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: key.String(), Tags: []string{"second"}}))
			})
			if name == "Delete" {
				return // It deleted the second one by its second decision.
			}
			got, err := c.Get(t.Context(), ws, key)
			require.NoError(t, err)
			require.Contains(t, got.GetTags(), "second")
			require.NotContains(t, got.GetTags(), "first")
		})
	}
}

// documentsWithoutATokenChange: earlier versions of the program wrote revisions without tokens.
func documentsWithoutATokenChange(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	insert := func() uuid.UUID {
		key := uuid.New()
		doc, err := store.NewDocument(ws, &orchv1.Flow{Id: key.String(), Name: key.String()}, time.Time{})
		require.NoError(t, err)
		require.NoError(t, c.InsertNew(t.Context(), []bson.Raw{doc}))
		return key
	}
	key := insert()
	for n, name := range []string{"a", "b"} {
		got, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, revision int64) (*store.Change[*orchv1.Flow], error) {
			require.EqualValues(t, n+2, revision)
			return tag(current, name), nil
		})
		require.NoError(t, err)
		require.Len(t, got.GetTags(), n+1)
	}
	read, err := store.FindVersions(t.Context(), c, ws, bson.D{{Key: "_id", Value: store.Binary(insert())}})
	require.NoError(t, err)
	next, complete, err := store.ReplaceAll(t.Context(), c, ws, []store.Replacement[*orchv1.Flow]{{Read: read[0], Next: tag(read[0].Message, "a").Message}})
	require.NoError(t, err)
	require.True(t, complete)
	boxes, err := store.DeleteVersions(t.Context(), c, ws, next, func(*orchv1.Flow) []store.Effect { return nil })
	require.NoError(t, err)
	require.Len(t, boxes, 1)
	require.NoError(t, c.Delete(t.Context(), ws, insert(), func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }))
}
