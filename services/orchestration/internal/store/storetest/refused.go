package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// refusedDocumentsAreNamed: a document that the database refuses is named with its error, and the others are stored.
func refusedDocumentsAreNamed(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := store.NewCollection(s, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs), uuid.New()
	const documents = 20
	bad := map[int]bool{0: true, 7: true, 19: true}
	var batch []store.ClientDocument
	for i := range documents {
		id := uuid.New()
		e := &orchv1.ReceivedEvent{Id: id.String(), Event: "test", ResourceId: "r", ResourceIds: []string{"r"}}
		if bad[i] {
			e.Payload = []byte(`{"text":"` + strings.Repeat("x", 16<<20) + `"}`) // Above the limit of a document.
		}
		doc, err := store.NewDocument(ws, e, time.Time{})
		require.NoError(t, err)
		batch = append(batch, store.ClientDocument{Workspace: ws, ID: id, Doc: doc})
	}
	for range 2 { // The second time, the others are there.
		refused, err := store.InsertClientIDs(t.Context(), c, batch)
		require.NoError(t, err)
		require.Len(t, refused, len(bad))
		for _, r := range refused {
			require.True(t, bad[r.Position], r.Position)
			require.True(t, store.IsPermanent(r.Err), r.Err)
		}
		n, err := c.Count(t.Context(), ws, store.Query{})
		require.NoError(t, err)
		require.EqualValues(t, documents-len(bad), n)
	}
}
