package events

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Documents of one batch stay as they were encoded while the memory grows, and a reset reuses it.
func TestDocumentsShareMemory(t *testing.T) {
	t.Parallel()
	s := &Service{}
	ws := uuid.New()
	event := func(size int) *orchv1.ReceivedEvent {
		return &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "x", Occurred: timestamppb.Now(), Received: timestamppb.Now(), Payload: []byte(`"` + strings.Repeat("x", size) + `"`),
			Resource: &orchv1.Resource{Labels: map[string]string{"a": "b"}},
		}
	}
	var d documents
	for _, sizes := range [][]int{{10, 2000, 1, 100_000, 3}, {5, 6}, {5 << 20, 1}, {7}} {
		d.reset()
		var got, want []bson.Raw
		for _, size := range sizes {
			e := event(size)
			doc, err := d.add(s, ws, e)
			require.NoError(t, err)
			got = append(got, doc)
			doc, err = store.NewDocument(ws, e, time.Time{})
			require.NoError(t, err)
			want = append(want, doc)
		}
		require.Equal(t, want, got)
		bad := event(1)
		bad.Id = "no id"
		_, err := d.add(s, ws, bad)
		require.Error(t, err)
		require.Equal(t, want, got)
	}
	d.reset()
	require.LessOrEqual(t, cap(d.memory), maxDocuments)
}
