package orchestration_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// An event that is published after a destination was created or changed reaches it without an automation, and its failure causes an event.
func TestEventsReachDestinations(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 10)
	var refuse atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		if refuse.Load() {
			w.WriteHeader(http.StatusGone)
		}
	}))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	created := call[*orchv1.Destination](d, orchv1.DestinationService_CreateDestination_FullMethodName, &orchv1.CreateDestinationRequest{
		Destination: &orchv1.DestinationCreate{
			Name: "warehouse", Url: receiver.URL, Enabled: true, RetryFor: 60,
			Subscriptions: []*orchv1.DestinationSubscription{{
				Events: []string{"order.*"}, Filter: proto.String("event.payload.n == 5"), Template: proto.String("order {{ event.resource.id }}"),
			}},
		},
	})
	d.emit("order.paid", "1")
	d.emit("order.lost", "2", func(e *orchv1.Event) { e.Payload = []byte(`{"n": 6}`) })
	require.Equal(t, "order 1", <-bodies)
	deliveries := func() []*orchv1.DestinationDelivery {
		return call[*orchv1.DestinationDeliveryList](d, orchv1.DestinationService_ReadDestinationDeliveries_FullMethodName,
			&orchv1.ReadDestinationDeliveriesRequest{Id: created.GetId()}).GetDeliveries()
	}
	require.Eventually(t, func() bool {
		log := deliveries()
		return len(log) == 1 && log[0].GetState() == orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_DELIVERED
	}, time.Minute, 10*time.Millisecond, "the filter excludes the other one")

	refuse.Store(true)
	_ = call[proto.Message](d, orchv1.DestinationService_UpdateDestination_FullMethodName, &orchv1.UpdateDestinationRequest{
		Id: created.GetId(), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"subscriptions"}},
		Destination: &orchv1.DestinationUpdate{Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"order.lost"}, Template: proto.String("lost")}}},
	})
	d.emit("order.paid", "3")
	d.emit("order.lost", "4")
	require.Equal(t, "lost", <-bodies)
	failed := d.eventually("orch.destination.delivery-failed", 1)
	require.Contains(t, string(failed[0].GetPayload()), "410")
	require.Len(t, deliveries(), 2)

	_ = call[proto.Message](d, orchv1.DestinationService_DeleteDestination_FullMethodName, &orchv1.DeleteDestinationRequest{Id: created.GetId()})
	_, _, err := try[proto.Message](d, orchv1.DestinationService_ReadDestination_FullMethodName, &orchv1.ReadDestinationRequest{Id: created.GetId()})
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code)
	_, _, err = tryIn[proto.Message](d, request.DefaultAccount, orchv1.DestinationService_ReadDestination_FullMethodName, &orchv1.ReadDestinationRequest{Id: created.GetId()})
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code)
}
