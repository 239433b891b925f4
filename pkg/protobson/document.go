package protobson

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Append appends the elements of m to dst and gives the longer slice: no header, no end, so that the caller can put them
// inside a document of its own. After an error dst holds what it held before.
func Append(dst []byte, m proto.Message) ([]byte, error) { return appendTop(dst, m, false) }

// AppendDocument is Append in a collection's form: the field id is _id, and must be there if the message has it. It comes
// first, where a store would put it: one that comes later has each document written anew.
func AppendDocument(dst []byte, m proto.Message) ([]byte, error) { return appendTop(dst, m, true) }

// Marshal gives m as one document.
func Marshal(m proto.Message) (bson.Raw, error) { return marshal(m, false) }

// MarshalDocument is Marshal in a collection's form: the field id is _id.
func MarshalDocument(m proto.Message) (bson.Raw, error) { return marshal(m, true) }

// Unmarshal sets m to what a document holds; m is reset first, and left empty after an error. Nothing of m aliases raw.
func Unmarshal(raw bson.Raw, m proto.Message) error { return unmarshal(raw, m, false) }

// UnmarshalDocument is Unmarshal in a collection's form: the field id is _id, and the envelope is skipped.
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
			// Left out, the driver would make up an ObjectID, and no read by UUID would ever find the document.
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

// documentPlan gives the plan of a message that stands alone.
func documentPlan(md protoreflect.MessageDescriptor, inCollection bool) (*plan, error) {
	p := planOf(md)
	if p.form != formDocument {
		return nil, fmt.Errorf("protobson: %s: %w: it is inline or a tuple", md.Name(), ErrMessage)
	}
	if inCollection && p.reserved != "" {
		return nil, fmt.Errorf("protobson: %s: %w: the envelope has a %s of its own", md.Name(), ErrMessage, p.reserved)
	}
	return p, nil
}
