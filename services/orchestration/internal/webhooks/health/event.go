package health

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// payload tells what caused a change.
type payload struct {
	Status   string  `json:"status"`
	Cause    string  `json:"cause"` // requests or silence
	Requests int64   `json:"requests"`
	Failures int64   `json:"failures"`
	Reason   *string `json:"reason"`
	Error    *string `json:"error"`
	Window   float64 `json:"window_seconds"`
}

// Events returns the events of a change; none for the first accepted request, which is no news. Their ids derive from the webhook, the
// status and the time of the change.
//
// The name is in the name space of the webhook's other events. The second event has the former name, for automations that expect it.
func (p Policy) Events(vocab vocabulary.Vocabulary, w *orchv1.WebhookWatch, change Transition, now time.Time) ([]*orchv1.ReceivedEvent, error) {
	if change.From == unknown && change.To == healthy {
		return nil, nil
	}
	id, err := uuid.Parse(w.GetId())
	if err != nil {
		return nil, fmt.Errorf("make event of webhook: parse id: %w", err)
	}
	published := payload{
		Status: "failing", Cause: "requests", Requests: change.Requests, Failures: change.Failures, Reason: w.Reason, Error: w.Error,
		Window: p.Window.Seconds(),
	}
	name := "failing"
	switch change.To {
	case healthy:
		name, published.Status, published.Reason, published.Error = "recovered", "healthy", nil, nil
	case silent:
		published.Status, published.Cause, published.Reason, published.Error = "silent", "silence", nil, nil
	}
	text, err := json.Marshal(published)
	if err != nil {
		return nil, fmt.Errorf("make event of webhook: %w", err)
	}
	key := fmt.Appendf(nil, "%s\n%d", change.To, change.At.UnixMicro())
	former := vocab.Name("webhook", name)
	event := func(name string, id uuid.UUID) *orchv1.ReceivedEvent {
		return &orchv1.ReceivedEvent{
			Id:       id.String(),
			Event:    name,
			Occurred: timestamppb.New(change.At),
			Received: timestamppb.New(now),
			Resource: &orchv1.Resource{Labels: map[string]string{
				vocab.ResourceID(): vocab.CloudName("webhook", w.GetId()), vocab.ResourceName(): w.GetName(),
			}},
			Payload: text,
		}
	}
	return []*orchv1.ReceivedEvent{
		event(vocab.CloudName("webhook", name), uuid.NewSHA1(id, key)),
		event(former, uuid.NewSHA1(id, append(key, former...))),
	}, nil
}
