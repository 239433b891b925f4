package events

import (
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/orch-project/orch/pkg/broker"
)

// appendFields appends the stored fields of the event, as protobson does with its message: by field number, the id first.
func (e *encodedEvent) appendFields(dst []byte, b *broker.Event) []byte {
	dst = bsoncore.AppendBinaryElement(dst, "_id", bson.TypeBinaryUUID, b.ID[:])
	dst = bsoncore.AppendInt64Element(dst, "occurred", e.occurred.UnixMicro())
	dst = bsoncore.AppendStringElement(dst, "event", b.Type)
	dst = appendPairs(dst, "resource", e.resource)
	if len(e.related) > 0 {
		dst = e.appendRelated(dst)
	}
	dst = appendText(dst, "payload", e.payload)
	if e.follows != uuid.Nil {
		dst = bsoncore.AppendBinaryElement(dst, "follows", bson.TypeBinaryUUID, e.follows[:])
	}
	dst = bsoncore.AppendInt64Element(dst, "received", e.received.UnixMicro())
	dst = appendText(dst, "resource_id", e.resourceIDs[0])
	list, dst := bsoncore.AppendArrayElementStart(dst, "resource_ids")
	for i, id := range e.resourceIDs {
		dst = appendValue(appendPosition(dst, bson.TypeString, i), id)
	}
	dst = endDocument(dst, list)
	dst = bsoncore.AppendBooleanElement(dst, "shared_id", false)
	if b.TraceParent != "" {
		dst = bsoncore.AppendStringElement(dst, "traceparent", b.TraceParent)
	}
	if b.TraceState != "" {
		dst = bsoncore.AppendStringElement(dst, "tracestate", b.TraceState)
	}
	return dst
}

// appendRelated appends the related resources: an array of {labels: [{k, v}, …]}.
func (e *encodedEvent) appendRelated(dst []byte) []byte {
	list, dst := bsoncore.AppendArrayElementStart(dst, "related")
	start := 0
	for i, end := range e.related {
		dst = appendPosition(dst, bson.TypeEmbeddedDocument, i)
		var doc int32
		doc, dst = bsoncore.AppendDocumentStart(dst)
		dst = appendPairs(dst, "labels", e.labels[start:end])
		dst = endDocument(dst, doc)
		start = end
	}
	return endDocument(dst, list)
}

// appendPairs appends labels as an array of {k, v}.
func appendPairs(dst []byte, key string, labels []encodedLabel) []byte {
	list, dst := bsoncore.AppendArrayElementStart(dst, key)
	for i, l := range labels {
		dst = appendPosition(dst, bson.TypeEmbeddedDocument, i)
		var doc int32
		doc, dst = bsoncore.AppendDocumentStart(dst)
		dst = appendText(appendText(dst, "k", l.key), "v", l.value)
		dst = endDocument(dst, doc)
	}
	return endDocument(dst, list)
}

// appendPosition appends the header of an element of an array.
func appendPosition(dst []byte, t bson.Type, i int) []byte {
	return append(strconv.AppendInt(append(dst, byte(t)), int64(i), 10), 0)
}

// appendText appends a string element.
func appendText(dst []byte, key string, text []byte) []byte {
	return appendValue(bsoncore.AppendHeader(dst, bsoncore.TypeString, key), text)
}

// appendValue appends the value of a string.
func appendValue(dst, text []byte) []byte {
	return append(append(bsoncore.AppendInt32(dst, int32(len(text)+1)), text...), 0)
}

// endDocument ends a document or an array that is at start.
func endDocument(dst []byte, start int32) []byte {
	dst, _ = bsoncore.AppendDocumentEnd(dst, start) // It fails for a start outside of dst alone.
	return dst
}

// expiry is when a received event is removed; the zero time keeps it.
func (s *Service) expiry(received time.Time) time.Time {
	if s.retention <= 0 {
		return time.Time{}
	}
	return received.Add(s.retention)
}
