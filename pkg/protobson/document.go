package protobson

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Append appends the elements of m to dst, without header and end, so a caller can put them inside its own document. After an
// error it returns dst unchanged.
func Append(dst []byte, m proto.Message) ([]byte, error) { return appendTop(dst, m, false) }

// AppendDocument is like Append in the form of a collection: the field id is _id, and a message with that field must have a
// value. It is the first element, because a server rewrites a document that has it later.
func AppendDocument(dst []byte, m proto.Message) ([]byte, error) { return appendTop(dst, m, true) }

// Marshal returns m as one document.
func Marshal(m proto.Message) (bson.Raw, error) { return marshal(m, false) }

// MarshalDocument is like Marshal in the form of a collection: the field id is _id.
func MarshalDocument(m proto.Message) (bson.Raw, error) { return marshal(m, true) }

// Unmarshal resets m and reads a document into it. After an error m is empty. m does not alias raw.
func Unmarshal(raw bson.Raw, m proto.Message) error { return unmarshal(raw, m, false) }

// UnmarshalDocument is like Unmarshal in the form of a collection: the field id is _id, and the envelope is skipped.
func UnmarshalDocument(raw bson.Raw, m proto.Message) error { return unmarshal(raw, m, true) }

func appendTop(dst []byte, m proto.Message, inCollection bool) ([]byte, error) {
	r := m.ProtoReflect()
	p, err := documentPlan(r.Descriptor(), inCollection)
	if err != nil {
		return dst, err
	}
	var first *field
	if inCollection {
		first = p.id
		if first != nil && !first.present(r) {
			// Without an _id the driver would generate an ObjectID, and no read by UUID would find the document.
			return dst, fmt.Errorf("protobson: %s: %w: the id is missing", p.md.Name(), ErrValue)
		}
	}
	out, err := p.appendFields(dst, r, first, 1)
	if err != nil {
		return dst, top(string(p.md.Name()), err)
	}
	return out, nil
}

func marshal(m proto.Message, inCollection bool) (bson.Raw, error) {
	start, dst := bsoncore.AppendDocumentStart(make([]byte, 0, 512))
	dst, err := appendTop(dst, m, inCollection)
	if err != nil {
		return nil, err
	}
	dst, err = bsoncore.AppendDocumentEnd(dst, start)
	return bson.Raw(dst), err
}

func unmarshal(raw bson.Raw, m proto.Message, inCollection bool) error {
	proto.Reset(m)
	r := m.ProtoReflect()
	p, err := documentPlan(r.Descriptor(), inCollection)
	if err != nil {
		return err
	}
	if p.readWire(raw, m, inCollection) {
		return nil
	}
	proto.Reset(m)
	if err := p.readFields(raw, r, inCollection, 1); err != nil {
		proto.Reset(m)
		return top(string(p.md.Name()), err)
	}
	return nil
}

// documentPlan returns the plan of a message that is a document by itself.
func documentPlan(md protoreflect.MessageDescriptor, inCollection bool) (*plan, error) {
	p := planOf(md)
	if p.form != formDocument {
		return nil, fmt.Errorf("protobson: %s: %w: inline and tuple messages are not documents", md.Name(), ErrMessage)
	}
	if inCollection && p.reserved != "" {
		return nil, fmt.Errorf("protobson: %s: %w: the name %s belongs to the envelope", md.Name(), ErrMessage, p.reserved)
	}
	return p, nil
}
