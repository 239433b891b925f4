package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestAnswersWithoutPagesAreBounded: Find refuses documents that are too large together. They stay readable one by one.
func TestAnswersWithoutPagesAreBounded(t *testing.T) {
	t.Parallel()
	s, stop := open(t, t.TempDir(), embeddedmongo.Options{})
	defer stop()
	c, ws := store.NewCollection(s, query.Variable, &orchv1.Variable{}), uuid.New()
	size := 0
	var last uuid.UUID
	testkit.FillBound(t, "an answer without pages", store.MaxAnswerBytes, func() bool {
		last = s.NewID()
		require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Variable{
			Id: last.String(), Name: last.String(), Value: []byte(`"` + strings.Repeat("v", 2<<20) + `"`),
		}))
		found, err := c.Find(t.Context(), ws, store.Query{Sort: bson.D{{Key: "name", Value: 1}}, Bytes: store.MaxAnswerBytes})
		if err != nil {
			require.ErrorIs(t, err, store.ErrTooLargeAnswer)
			require.Empty(t, found)
			return true
		}
		size = 0
		for _, v := range found {
			size += len(v.GetValue())
		}
		return false
	}, func() int { return size })
	_, err := c.Get(t.Context(), ws, last)
	require.NoError(t, err)
}
