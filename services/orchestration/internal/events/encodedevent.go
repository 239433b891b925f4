package events

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
)

// encodedEvent is an event as the servers encode it (restjson): members in the order of the contract, labels sorted, no white
// space. Its parts are slices of the broker's message, so storing it needs no proto message in between. It is reused.
type encodedEvent struct {
	occurred, received time.Time
	resource           []encodedLabel
	labels             []encodedLabel // Of all related resources, one after another.
	related            []int          // The end of each related resource in labels.
	payload            []byte
	follows            uuid.UUID // Nil for none.
	resourceIDs        [][]byte  // Distinct; that of the resource first. Nil stands for a missing label.
}

// encodedLabel is a label without escapes.
type encodedLabel struct{ key, value []byte }

const (
	// maxEncodedDepth bounds the nesting of a payload, and maxEncodedRelated the related resources. Events beyond take the way
	// through the message; both bounds are far above usual events.
	maxEncodedDepth   = 64
	maxEncodedRelated = 64
)

// read parses the data of an event. It returns false for everything that it does not recognise, valid or not: the message
// decides then. label is the one that holds resource ids.
func (e *encodedEvent) read(b *broker.Event, label string) bool {
	r := encodedReader{Lexer: jsontoken.Lexer{Data: b.Data, MaxDepth: maxEncodedDepth}}
	e.labels, e.related, e.follows = e.labels[:0], e.related[:0], uuid.Nil
	var name, id []byte
	if !r.take(`{"occurred":"`) || !r.time(&e.occurred) ||
		!r.take(`,"event":"`) || !r.plain(&name) || string(name) != b.Type ||
		!r.take(`,"resource":`) {
		return false
	}
	var ok bool
	if e.resource, ok = r.appendLabels(e.resource[:0]); !ok || len(e.resource) == 0 {
		return false
	}
	if !r.take(`,"related":[`) || !e.readRelated(&r) ||
		!r.take(`,"payload":{`) || !r.object(&e.payload) ||
		!r.take(`,"id":"`) || !r.plain(&id) || !isID(id, b.ID) ||
		!r.take(`,"follows":`) || !r.take(`null`) && !r.id(&e.follows) ||
		!r.take(`,"received":"`) || !r.time(&e.received) || !r.take(`}`) {
		return false
	}
	e.index(label)
	return r.Pos == len(b.Data)
}

func (e *encodedEvent) readRelated(r *encodedReader) bool {
	for !r.take(`]`) {
		if len(e.related) == maxEncodedRelated || len(e.related) > 0 && !r.take(`,`) {
			return false
		}
		before := len(e.labels)
		var ok bool
		if e.labels, ok = r.appendLabels(e.labels); !ok || len(e.labels) == before {
			return false
		}
		e.related = append(e.related, len(e.labels))
	}
	return true
}

// index collects the resource ids, as wire.Index does.
func (e *encodedEvent) index(label string) {
	e.resourceIDs = append(e.resourceIDs[:0], valueOf(e.resource, label))
	start := 0
	for _, end := range e.related {
		e.addResourceID(valueOf(e.labels[start:end], label))
		start = end
	}
}

func (e *encodedEvent) addResourceID(id []byte) {
	for _, earlier := range e.resourceIDs {
		if bytes.Equal(earlier, id) {
			return
		}
	}
	e.resourceIDs = append(e.resourceIDs, id)
}

func valueOf(labels []encodedLabel, key string) []byte {
	for _, l := range labels {
		if string(l.key) == key {
			return l.value
		}
	}
	return nil
}

// isID reports whether a text is the canonical form of an id.
func isID(text []byte, id uuid.UUID) bool {
	got, ok := canonicalID(text)
	return ok && got == id
}

// canonicalID parses a UUID in lower case with hyphens.
func canonicalID(text []byte) (uuid.UUID, bool) {
	if len(text) != len("00000000-0000-0000-0000-000000000000") || bytes.ContainsAny(text, "ABCDEF") {
		return uuid.Nil, false
	}
	id, err := uuid.ParseBytes(text)
	return id, err == nil
}

// encodedReader takes the parts of an encoded event off the front of its text.
type encodedReader struct{ jsontoken.Lexer }

func (r *encodedReader) take(what string) bool {
	end := r.Pos + len(what)
	if end > len(r.Data) || string(r.Data[r.Pos:end]) != what {
		return false
	}
	r.Pos = end
	return true
}

// plain takes the rest of a string after its opening quote. It has no escapes.
func (r *encodedReader) plain(to *[]byte) bool {
	end, ascii := jsontoken.PlainEnd(r.Data, r.Pos)
	if end == len(r.Data) || r.Data[end] != '"' || !ascii && !utf8.Valid(r.Data[r.Pos:end]) {
		return false
	}
	*to = r.Data[r.Pos:end]
	r.Pos = end + 1
	return true
}

// time takes the rest of a time after its opening quote.
func (r *encodedReader) time(to *time.Time) bool {
	var text []byte
	if !r.plain(&text) {
		return false
	}
	seconds, nanos, reason := restjson.ParseTimestamp(string(text))
	*to = time.Unix(seconds, int64(nanos)).UTC()
	return reason == ""
}

// id takes a UUID that is not nil.
func (r *encodedReader) id(to *uuid.UUID) (ok bool) {
	var text []byte
	if !r.take(`"`) || !r.plain(&text) {
		return false
	}
	*to, ok = canonicalID(text)
	return ok && *to != uuid.Nil
}

// object takes the rest of an object after its opening brace, and returns all of it.
func (r *encodedReader) object(to *[]byte) bool {
	r.Pos--
	*to = r.Raw()
	return !r.Stopped() && r.Spaces == 0 && !r.LoneSurrogate
}

// appendLabels takes an object of strings with ascending keys.
func (r *encodedReader) appendLabels(to []encodedLabel) ([]encodedLabel, bool) {
	if !r.take(`{`) {
		return to, false
	}
	for first := len(to); !r.take(`}`); {
		if len(to) > first && !r.take(`,`) {
			return to, false
		}
		var l encodedLabel
		if !r.take(`"`) || !r.plain(&l.key) || !r.take(`:"`) || !r.plain(&l.value) ||
			len(to) > first && bytes.Compare(to[len(to)-1].key, l.key) >= 0 {
			return to, false
		}
		to = append(to, l)
	}
	return to, true
}
