package destinations

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// report returns the effect that publishes an event about a destination.
func (s *Service) report(ws uuid.UUID, d *orchv1.Destination, verb string, payload map[string]any) ([]store.Effect, error) {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return nil, fmt.Errorf("report %s of a destination: %w", verb, err)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("report %s of a destination: %w", verb, err)
	}
	effect, err := events.Publish(ws, events.Lifecycle{
		ID: s.Store.NewID(), Kind: kind, Verb: verb, Of: id, Name: d.GetName(), At: s.Store.Now(), Payload: text,
	}.Event(s.Vocabulary))
	return []store.Effect{effect}, err
}

// reportRefused returns the effect that publishes that deliveries were refused.
func (s *Service) reportRefused(ws uuid.UUID, d *orchv1.Destination, refused int, cause error) ([]store.Effect, error) {
	return s.report(ws, d, "queue-full", map[string]any{"refused": refused, "cause": cause.Error()})
}

// concernsDestinations reports whether an event of a name is about a destination. The failed delivery of such an event causes none:
// destinations that receive the failures of each other would otherwise cause events without end.
func (s *Service) concernsDestinations(name string) bool {
	return strings.HasPrefix(name, s.Vocabulary.Name(kind)+".")
}
