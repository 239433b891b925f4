package deployments

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// lifecycle is the effect that tells what happened to a deployment.
func (s *Service) lifecycle(ws uuid.UUID, d *orchv1.Deployment, verb string, payload []byte) (store.Effect, error) {
	id, err := call.ParseID(d.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	of := s.deployments.Store()
	e := events.Lifecycle{
		ID: of.NewID(), Kind: "deployment", Verb: verb, Of: id, Name: d.GetName(), At: of.Now(), Payload: payload,
	}.Event(s.words)
	e.Related = append(e.Related, events.Related(s.words, "flow", d.GetFlowId(), "flow", ""))
	return events.Publish(ws, e)
}

// updated is the effect that tells which fields of a deployment were changed, from what to what.
func (s *Service) updated(ws uuid.UUID, before, after *orchv1.Deployment) (store.Effect, error) {
	payload, err := changes(before.ProtoReflect(), after.ProtoReflect())
	if err != nil {
		return store.Effect{}, err
	}
	return s.lifecycle(ws, after, "updated", payload)
}

type change struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

func changes(before, after protoreflect.Message) ([]byte, error) {
	var told struct {
		Fields  []string          `json:"updated_fields"`
		Updates map[string]change `json:"updates"`
	}
	told.Fields, told.Updates = []string{}, map[string]change{}
	fields := before.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if restjson.Internal(fd) || restjson.Computed(fd) || fd.Name() == "updated" || fd.Name() == "created" {
			continue
		}
		if before.Has(fd) == after.Has(fd) && before.Get(fd).Equal(after.Get(fd)) {
			continue
		}
		from, err := restjson.AppendField(nil, before, fd)
		if err != nil {
			return nil, fmt.Errorf("tell what was changed: %w", err)
		}
		to, err := restjson.AppendField(nil, after, fd)
		if err != nil {
			return nil, fmt.Errorf("tell what was changed: %w", err)
		}
		told.Fields = append(told.Fields, restjson.Name(fd))
		told.Updates[restjson.Name(fd)] = change{from, to}
	}
	payload, err := json.Marshal(told)
	if err != nil {
		return nil, fmt.Errorf("tell what was changed: %w", err)
	}
	return payload, nil
}
