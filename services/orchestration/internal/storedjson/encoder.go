// Package storedjson encodes responses from stored documents, for callers of the same process that accept JSON.
//
//	document ──▶ protobson.JSONEncoder ───────────────────▶ JSON
//	                └── unusual data ──▶ message ──▶ restjson ──▶ the same JSON, or an error
package storedjson

import (
	"bytes"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Encoder encodes the documents of a collection.
type Encoder[M proto.Message] struct {
	collection *store.Collection[M]
	present    func(m M, now time.Time) M
	direct     *protobson.JSONEncoder // nil if the message has a shape that needs reflection; a test fails then.
}

// New returns an encoder. present sets the computed fields of a message; derive writes the JSON of the computed fields with those
// names. Both are nil for messages without computed fields.
func New[M proto.Message](
	collection *store.Collection[M], present func(m M, now time.Time) M, derive protobson.Derive, names ...protoreflect.Name,
) Encoder[M] {
	direct, err := protobson.NewJSONEncoder(collection.New(), derive, names...)
	if err != nil {
		direct = nil
	}
	return Encoder[M]{collection: collection, present: present, direct: direct}
}

// Append appends a document as JSON.
func (e Encoder[M]) Append(dst []byte, doc bson.Raw, now time.Time) ([]byte, error) {
	if out, ok := e.Direct(dst, doc, now); ok {
		return out, nil
	}
	m, err := e.collection.Decode(doc)
	if err != nil {
		return dst, err
	}
	if e.present != nil {
		m = e.present(m, now)
	}
	return restjson.Append(dst, m)
}

// Direct is Append without a message. False means that only Append can encode the document.
func (e Encoder[M]) Direct(dst []byte, doc bson.Raw, now time.Time) ([]byte, bool) {
	if e.direct == nil {
		return dst, false
	}
	return e.direct.AppendDocument(dst, doc, now)
}

// One writes a document as the response.
func (e Encoder[M]) One(offer *rpc.Encoded, doc bson.Raw) error {
	body, err := e.Append(offer.Body, doc, e.collection.Store().Now())
	if err == nil {
		offer.Write(body)
	}
	return err
}

// List writes the documents that walk visits as the response, a JSON array.
func (e Encoder[M]) List(offer *rpc.Encoded, walk func(visit func(doc bson.Raw) error) error) error {
	body, err := e.appendArray(offer.Body, walk)
	if err == nil {
		offer.Write(body)
	}
	return err
}

// Page writes the documents that walk visits as the results of a numbered page, the response. walk returns the page without
// results.
func (e Encoder[M]) Page(offer *rpc.Encoded, walk func(visit func(doc bson.Raw) error) (page proto.Message, err error)) error {
	var page proto.Message
	body, err := e.appendArray(append(offer.Body, results...), func(visit func(doc bson.Raw) error) (err error) {
		page, err = walk(visit)
		return err
	})
	if err != nil {
		return err
	}
	text, err := restjson.Marshal(page)
	if err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(text, []byte(results+"[]"))
	if !ok {
		return fmt.Errorf("encode %s: it does not begin with empty results", page.ProtoReflect().Descriptor().Name())
	}
	offer.Write(append(body, rest...))
	return nil
}

// results is the beginning of a page: its first field.
const results = `{"results":`

// appendArray appends the documents that walk visits as a JSON array.
func (e Encoder[M]) appendArray(body []byte, walk func(visit func(doc bson.Raw) error) error) ([]byte, error) {
	now := e.collection.Store().Now()
	body = append(body, '[')
	first := len(body)
	err := walk(func(doc bson.Raw) (err error) {
		if len(body) > first {
			body = append(body, ',')
		}
		body, err = e.Append(body, doc, now)
		return err
	})
	return append(body, ']'), err
}
