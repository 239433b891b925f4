package action

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// An action ends when the deliveries to all its receivers have ended, and fails if one of them failed.
func TestAllDeliveriesEndTheirAction(t *testing.T) {
	t.Parallel()
	const (
		pending = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING
		done    = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_DELIVERED
		failed  = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED
	)
	r := New(Deps{Store: storetest.Embedded(t, clock.NewManual(noon))})
	cause := "the receiver is down"
	for name, c := range map[string]struct {
		states []orchv1.DestinationDeliveryState
		parts  int32 // The number of receivers; 0 means as many as are stored.
		all    bool
		reason string
	}{
		"delivered":             {[]orchv1.DestinationDeliveryState{done, done}, 0, true, ""},
		"one waits":             {[]orchv1.DestinationDeliveryState{done, pending}, 0, false, ""},
		"one waits, one failed": {[]orchv1.DestinationDeliveryState{failed, pending}, 0, false, ""},
		"one failed":            {[]orchv1.DestinationDeliveryState{done, failed}, 0, true, "Notification failed: " + cause},
		"one was deleted":       {[]orchv1.DestinationDeliveryState{done}, 2, true, "Notification failed: the delivery was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, id := uuid.New(), uuid.New()
			parts := max(c.parts, int32(len(c.states)))
			for part, state := range c.states {
				d := &orchv1.DestinationDelivery{Id: deliveryID(id, part).String(), DestinationId: uuid.NewString(), EventId: uuid.NewString(), State: state, Parts: parts}
				if state == failed {
					d.Error = &cause
				}
				require.NoError(t, r.deliveries.Insert(t.Context(), ws, d))
			}
			o, all, err := r.outcome(t.Context(), ws, id, &orchv1.AutomationActionRun{
				Action: &orchv1.Action{Kind: &orchv1.Action_SendNotification{SendNotification: &orchv1.SendNotification{}}},
			})
			require.NoError(t, err)
			require.Equal(t, c.all, all)
			if all {
				require.Equal(t, c.reason, o.reason)
			}
		})
	}
}
