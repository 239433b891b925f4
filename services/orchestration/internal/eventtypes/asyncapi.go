package eventtypes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// object is a JSON object of the document.
type object map[string]any

// ReadAsyncAPI returns an AsyncAPI document of the events that /events/out sends. A pinned schema describes the payload, else the inferred one.
func (s *Service) ReadAsyncAPI(ctx context.Context, r *orchv1.ReadAsyncAPIRequest) (*orchv1.AsyncAPIDocument, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := store.Query{Sort: bson.D{{Key: "name", Value: 1}}, Bytes: store.MaxAnswerBytes}
	if r.GetPrefix() != "" {
		if q.Filter, err = query.Begins("name", r.GetPrefix()); err != nil {
			return nil, err
		}
	}
	types, err := s.types.Find(ctx, info.Workspace, q)
	if err != nil {
		return nil, err
	}
	document, err := describe(info.PublicURL, types)
	return &orchv1.AsyncAPIDocument{Document: document}, err
}

// describe returns the AsyncAPI document of event types.
func describe(publicURL string, types []*orchv1.EventType) ([]byte, error) {
	server, err := serverOf(publicURL)
	if err != nil {
		return nil, err
	}
	var changed time.Time
	messages, channel := object{}, object{}
	for _, t := range types {
		key := keyOf(t.GetName())
		messages[key] = messageOf(t)
		channel[key] = reference("components", "messages", key)
		if at := t.GetUpdated().AsTime(); at.After(changed) {
			changed = at
		}
	}
	document, err := json.Marshal(object{
		"asyncapi":           "3.0.0",
		"info":               object{"title": "Events of a workspace", "version": changed.UTC().Format(time.RFC3339)},
		"defaultContentType": "application/json",
		"servers":            object{"server": server},
		"channels": object{"events": object{
			"address": "/events/out", "servers": []any{reference("servers", "server")}, "messages": channel,
			"description": "The client authenticates, and then sends a filter of the events that it receives.",
		}},
		"operations": object{"sendEvent": object{"action": "send", "channel": reference("channels", "events")}},
		"components": object{"messages": messages, "schemas": object{"Event": envelope, "Resource": resource}},
	})
	if err != nil {
		return nil, fmt.Errorf("describe %d event types: %w", len(types), err)
	}
	return document, nil
}

// serverOf describes the websockets below the address of the API.
func serverOf(publicURL string) (object, error) {
	address, err := url.Parse(publicURL)
	if err != nil {
		return nil, fmt.Errorf("parse the address of the API: %w", err)
	}
	protocol := "ws"
	if address.Scheme == "https" {
		protocol = "wss"
	}
	return object{"host": address.Host, "pathname": address.Path, "protocol": protocol}, nil
}

// envelope is the schema of an event without its payload. resource is the schema of a resource in an event.
var (
	envelope = object{
		"type": "object", "required": []any{"occurred", "event", "resource", "related", "payload", "id", "received"},
		"properties": object{
			"id": object{"type": "string", "format": "uuid"}, "event": object{"type": "string"},
			"occurred": object{"type": "string", "format": "date-time"}, "received": object{"type": "string", "format": "date-time"},
			"follows":  object{"type": []any{"string", "null"}, "format": "uuid"},
			"resource": reference("components", "schemas", "Resource"),
			"related":  object{"type": "array", "items": reference("components", "schemas", "Resource")},
			"payload":  object{"type": "object"},
		},
	}
	resource = object{"type": "object", "additionalProperties": object{"type": "string"}}
)

// messageOf describes the events of a type.
func messageOf(t *orchv1.EventType) object {
	event := object{"event": object{"const": t.GetName()}}
	if payload := payloadSchema(t); payload != nil {
		event["payload"] = payload
	}
	return object{
		"name": t.GetName(), "title": t.GetName(),
		"payload": object{
			"type": "object", "required": []any{"type", "event"},
			"properties": object{
				"type":  object{"const": "event"},
				"event": object{"allOf": []any{reference("components", "schemas", "Event"), object{"properties": event}}},
			},
		},
	}
}

// payloadSchema returns the schema of the payloads of a type; nil for none. A pinned schema gets an id, so that its references lead to
// itself wherever it is.
func payloadSchema(t *orchv1.EventType) any {
	if t.Pinned == nil {
		if t.Schema == nil {
			return nil
		}
		return json.RawMessage(t.GetSchema())
	}
	own, err := jsontree.ParseObject(t.GetPinnedSchema())
	if err != nil {
		return nil // It was checked when it was pinned.
	}
	if _, has := own.Get("$id"); !has {
		own = jsontree.NewObject(append([]jsontree.Member{{Key: "$id", Value: "urn:uuid:" + t.GetId()}}, own.Members()...)...)
	}
	return json.RawMessage(jsontree.Text(own))
}

// reference returns a reference to a part of the document.
func reference(path ...string) object { return object{"$ref": "#/" + strings.Join(path, "/")} }

// keyOf returns a name in the characters of keys: letters, digits, dots and hyphens. Others are their bytes in hexadecimal digits.
func keyOf(name string) string {
	var key strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			key.WriteByte(c)
			continue
		}
		fmt.Fprintf(&key, "_%02x", c)
	}
	return key.String()
}
