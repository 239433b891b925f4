package events

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

const (
	// maxPayloadValue bounds one value of a payload, and maxPayload their sum, in bytes. Larger values are omitted, so
	// every resource can have events.
	maxPayloadValue = 64 << 10
	maxPayload      = 512 << 10
)

// Payload returns the payload of a life-cycle event: the named fields as the API returns them and, for a change, the
// changed fields with their old and new values. A nil before means a new, a deleted or an unchanged resource. Values
// beyond maxPayloadValue are null, and "omitted_fields" names them.
func Payload(resource, before proto.Message, fields ...protoreflect.Name) ([]byte, error) {
	values := map[string]json.RawMessage{}
	var omitted []string
	m := resource.ProtoReflect()
	size := 0
	add := func(name string, value json.RawMessage) {
		if len(value) > maxPayloadValue || size+len(value) > maxPayload {
			if !slices.Contains(omitted, name) {
				omitted = append(omitted, name)
			}
			value = json.RawMessage("null")
		}
		size += len(value)
		values[name] = value
	}
	for _, name := range fields {
		text, err := restjson.AppendField(nil, m, m.Descriptor().Fields().ByName(name))
		if err != nil {
			return nil, fmt.Errorf("write the payload of a %s: %w", m.Descriptor().Name(), err)
		}
		add(string(name), text)
	}
	if before != nil && before.ProtoReflect().IsValid() {
		names, updates, err := changes(before.ProtoReflect(), m)
		if err != nil {
			return nil, fmt.Errorf("write the changes of a %s: %w", m.Descriptor().Name(), err)
		}
		for name, c := range updates {
			if len(c.From)+len(c.To) > maxPayloadValue {
				if !slices.Contains(omitted, name) {
					omitted = append(omitted, name)
				}
				delete(updates, name)
			}
		}
		if values["updated_fields"], err = json.Marshal(names); err != nil {
			return nil, fmt.Errorf("write the changes of a %s: %w", m.Descriptor().Name(), err)
		}
		text, err := json.Marshal(updates)
		if err != nil {
			return nil, fmt.Errorf("write the changes of a %s: %w", m.Descriptor().Name(), err)
		}
		if size+len(text) > maxPayload {
			text = json.RawMessage("{}")
		}
		values["updates"] = text
	}
	if len(omitted) > 0 {
		slices.Sort(omitted)
		text, err := json.Marshal(omitted)
		if err != nil {
			return nil, fmt.Errorf("write the payload of a %s: %w", m.Descriptor().Name(), err)
		}
		values["omitted_fields"] = text
	}
	payload, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("write the payload of a %s: %w", m.Descriptor().Name(), err)
	}
	return payload, nil
}

type change struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// alwaysChanged are fields that every change sets.
var alwaysChanged = []protoreflect.Name{"created", "updated"}

// changes returns the names of the changed fields, in the order of the contract, with their values before and after.
func changes(before, after protoreflect.Message) ([]string, map[string]change, error) {
	names, updates := []string{}, map[string]change{}
	fields := before.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if restjson.Internal(fd) || restjson.Computed(fd) || slices.Contains(alwaysChanged, fd.Name()) ||
			(before.Has(fd) == after.Has(fd) && before.Get(fd).Equal(after.Get(fd))) {
			continue
		}
		from, err := restjson.AppendField(nil, before, fd)
		if err != nil {
			return nil, nil, err
		}
		to, err := restjson.AppendField(nil, after, fd)
		if err != nil {
			return nil, nil, err
		}
		names = append(names, restjson.Name(fd))
		updates[restjson.Name(fd)] = change{from, to}
	}
	return names, updates, nil
}
