package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// BenchmarkSearch measures one call of a search that reads its bound of deliveries of about a kilobyte and finds none.
func BenchmarkSearch(b *testing.B) {
	const deliveries, batch = 10_000, 1000
	db := storetest.New(b, clock.System{})
	collection := store.NewCollection(db, query.WebhookDelivery, &orchv1.WebhookDelivery{})
	s := &Service{logged: pagination.NewSource(collection, orchv1.WebhookDeliverySort_WEBHOOK_DELIVERY_SORT_RECEIVED_DESC)}
	ws, webhook := uuid.New(), uuid.NewString()
	var docs []bson.Raw
	for i := range deliveries {
		doc, err := store.NewDocument(ws, &orchv1.WebhookDelivery{
			Id: uuid.NewString(), WebhookId: webhook, Received: timestamppb.New(time.Unix(int64(i), 0)), Status: 204, Method: "POST",
			Headers: map[string]string{"content-type": "application/json", "user-agent": "sender/1.0", "x-delivery": uuid.NewString()},
			RawBody: fmt.Appendf(nil, `{"n": %d, "text": "%0900d"}`, i, i),
		}, time.Now().Add(time.Hour))
		require.NoError(b, err)
		if docs = append(docs, doc); len(docs) == batch {
			require.NoError(b, collection.InsertNew(b.Context(), docs))
			docs = nil
		}
	}
	ctx, page, text := requesttest.Incoming(b, ws), &orchv1.WebhookDeliverySearch{}, "nobody@example.com"
	for b.Loop() {
		found, err := s.search(ctx, webhook, nil, page, "", 200, &text)
		require.NoError(b, err)
		require.EqualValues(b, 5000, found.Searched)
	}
}
