package events

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// Payload is what a life-cycle event tells of a thing: the named fields as the API shows them, so that who hears of it
// need not ask; and where the thing was another before, also which fields were changed, from what to what. A nil before
// means that it is new, gone, or as it was.
func Payload(thing, before proto.Message, fields ...protoreflect.Name) ([]byte, error) {
	told := map[string]json.RawMessage{}
	m := thing.ProtoReflect()
	for _, name := range fields {
		text, err := restjson.AppendField(nil, m, m.Descriptor().Fields().ByName(name))
		if err != nil {
			return nil, fmt.Errorf("tell of a %s: %w", m.Descriptor().Name(), err)
		}
		told[string(name)] = text
	}
	if before != nil && before.ProtoReflect().IsValid() {
		if err := tellChanges(told, before.ProtoReflect(), m); err != nil {
			return nil, fmt.Errorf("tell what was changed of a %s: %w", m.Descriptor().Name(), err)
		}
	}
	payload, err := json.Marshal(told)
	if err != nil {
		return nil, fmt.Errorf("tell of a %s: %w", m.Descriptor().Name(), err)
	}
	return payload, nil
}

type change struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// untold are fields that every change touches.
var untold = []protoreflect.Name{"created", "updated"}

func tellChanges(told map[string]json.RawMessage, before, after protoreflect.Message) error {
	names, updates := []string{}, map[string]change{}
	fields := before.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if restjson.Internal(fd) || restjson.Computed(fd) || slices.Contains(untold, fd.Name()) ||
			(before.Has(fd) == after.Has(fd) && before.Get(fd).Equal(after.Get(fd))) {
			continue
		}
		from, err := restjson.AppendField(nil, before, fd)
		if err != nil {
			return err
		}
		to, err := restjson.AppendField(nil, after, fd)
		if err != nil {
			return err
		}
		names = append(names, restjson.Name(fd))
		updates[restjson.Name(fd)] = change{from, to}
	}
	var err error
	if told["updated_fields"], err = json.Marshal(names); err != nil {
		return err
	}
	told["updates"], err = json.Marshal(updates)
	return err
}
