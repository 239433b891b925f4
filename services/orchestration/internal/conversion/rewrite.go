package conversion

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// carried are the messages in the bodies of effects, by the kind of effect. The bodies of other kinds have no names.
var carried = map[string]proto.Message{
	events.KindPublish:   &orchv1.ReceivedEvent{},
	action.KindAction:    &orchv1.AutomationActionRun{},
	action.KindCollected: &orchv1.AutomationActionRun{},
}

// change is what a conversion does to a document.
type change struct {
	set   []byte // Elements.
	unset []string
	// id is the new id of a document whose id is made of its names; nil keeps the id.
	id uuid.UUID
	// reordered reports that the values of for_each labels changed their order.
	reordered bool
}

func (c *change) empty() bool { return len(c.set) == 0 && len(c.unset) == 0 }

// rewrite computes the change of a document.
func (c *Converter) rewrite(d *document, rename func(string) string, labels keyLabels, n notes) (change, error) {
	if d.collection == query.DeadLetter {
		return c.deadLetter(d, rename, labels, n)
	}
	var out change
	m := messages[d.collection]
	if holdsNames(m.ProtoReflect().Descriptor()) {
		if err := c.message(&out, d, m.ProtoReflect().New().Interface(), rename, labels, n); err != nil {
			return out, err
		}
	}
	return out, c.outbox(&out, d, rename, labels, n)
}

func (c *Converter) rewriter(d *document, rename func(string) string, labels keyLabels, n notes, out *change) *rewriter {
	return &rewriter{
		rename: rename, keys: c.keys, notes: n,
		sealedField: secrets.FieldRef{Workspace: d.workspace, Document: d.uuid, Field: "block_document.data"},
		reorder: func(trigger string, key []string) []string {
			next := labels.reorder(trigger, key, rename)
			out.reordered = out.reordered || !slices.Equal(next, key)
			return next
		},
	}
}

// message rewrites the message of a document.
func (c *Converter) message(out *change, d *document, m proto.Message, rename func(string) string, labels keyLabels, n notes) error {
	raw, err := store.Plain(d.raw)
	if err != nil {
		return err
	}
	if err := protobson.UnmarshalDocument(raw, m); err != nil {
		return fmt.Errorf("decode document: %w", err)
	}
	switch m := m.(type) {
	case *orchv1.AutomationActionRun:
		labels = labelsOf(d.workspace, m.GetAutomation())
	case *orchv1.AutomationKey:
		labels = labelsOf(d.workspace, m.GetCollected().GetAutomation())
	}
	var oldKey []string
	bucket, isBucket := m.(*orchv1.AutomationBucket)
	if isBucket {
		oldKey = slices.Clone(bucket.GetKey())
	}
	fields, err := c.rewriter(d, rename, labels, n, out).message(m)
	if err != nil || len(fields) == 0 {
		return err
	}
	if isBucket {
		out.id = bucketID(bucket, oldKey)
	}
	out.set, out.unset, err = protobson.AppendSet(out.set, m, fields)
	return err
}

// bucketID returns the new id of a bucket whose key changed. It is nil if the id is not made of the key.
func bucketID(b *orchv1.AutomationBucket, oldKey []string) uuid.UUID {
	triggerID, err := uuid.Parse(b.GetTriggerId())
	if err != nil || trigger.BucketID(triggerID, oldKey).String() != b.GetId() || slices.Equal(oldKey, b.GetKey()) {
		return uuid.Nil
	}
	return trigger.BucketID(triggerID, b.GetKey())
}

// outbox rewrites the effects of a document that are not executed yet.
func (c *Converter) outbox(out *change, d *document, rename func(string) string, labels keyLabels, n notes) error {
	box, ok := d.raw.Lookup("outbox").ArrayOK()
	if !ok {
		return nil
	}
	values, err := box.Values()
	if err != nil {
		return fmt.Errorf("decode outbox: %w", err)
	}
	start, array := bsoncore.AppendArrayElementStart(nil, "outbox")
	touched := false
	for i, v := range values {
		effect, ok := v.DocumentOK()
		if !ok {
			return errors.New("decode outbox: an effect is no document")
		}
		next, err := c.effect(out, d, effect, rename, labels, n)
		if err != nil {
			return err
		}
		touched = touched || next != nil
		if next == nil {
			next = effect
		}
		array = bsoncore.AppendDocumentElement(array, strconv.Itoa(i), bsoncore.Document(next))
	}
	if !touched {
		return nil
	}
	if array, err = bsoncore.AppendArrayEnd(array, start); err != nil {
		return err
	}
	out.set = append(out.set, array...)
	return nil
}

// effect rewrites the body of an effect; it returns nil if nothing changes.
func (c *Converter) effect(out *change, d *document, effect bson.Raw, rename func(string) string, labels keyLabels, n notes) (bson.Raw, error) {
	kind, _ := effect.Lookup("kind").StringValueOK()
	_, body, _ := effect.Lookup("body").BinaryOK()
	next, err := c.body(out, d, kind, body, rename, labels, n)
	if err != nil || next == nil {
		return nil, err
	}
	elements, err := effect.Elements()
	if err != nil {
		return nil, err
	}
	start, doc := bsoncore.AppendDocumentStart(nil)
	for _, e := range elements {
		if e.Key() == "body" {
			doc = bsoncore.AppendBinaryElement(doc, "body", bson.TypeBinaryGeneric, next)
			continue
		}
		doc = append(doc, e...)
	}
	doc, err = bsoncore.AppendDocumentEnd(doc, start)
	return doc, err
}

// body rewrites the message that an effect carries behind the id of its workspace; it returns nil if nothing changes. A body
// that cannot be decoded stays: its effect fails in any vocabulary.
func (c *Converter) body(out *change, d *document, kind string, body []byte, rename func(string) string, labels keyLabels, n notes) ([]byte, error) {
	prototype, ok := carried[kind]
	if !ok || len(body) < len(uuid.UUID{}) {
		return nil, nil
	}
	m := prototype.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(body[len(uuid.UUID{}):], m); err != nil {
		n.left([]string{kind}, "", "the effect cannot be decoded: "+err.Error())
		return nil, nil //nolint:nilerr // The report says so.
	}
	if run, ok := m.(*orchv1.AutomationActionRun); ok {
		labels = labelsOf(uuid.UUID(body[:len(uuid.UUID{})]), run.GetAutomation())
	}
	fields, err := c.rewriter(d, rename, labels, n, out).message(m)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(slices.Clone(body[:len(uuid.UUID{})]), m)
}

// deadLetter rewrites the encrypted body of an effect that failed permanently.
func (c *Converter) deadLetter(d *document, rename func(string) string, labels keyLabels, n notes) (change, error) {
	var out change
	kind, _ := d.raw.Lookup("kind").StringValueOK()
	_, sealed, _ := d.raw.Lookup("body").BinaryOK()
	if carried[kind] == nil {
		return out, nil
	}
	at := secrets.FieldRef{Workspace: d.workspace, Document: d.uuid, Field: "dead_letter.body"}
	body, err := c.keys.Open(at, sealed)
	if errors.Is(err, secrets.ErrUnknownKey) && c.keys.Empty() {
		return out, err
	}
	if err != nil {
		n.left([]string{"body"}, "", "it cannot be decrypted: "+err.Error())
		return out, nil //nolint:nilerr // The report says so.
	}
	next, err := c.body(&out, d, kind, body, rename, labels, n)
	if err != nil || next == nil {
		return out, err
	}
	if sealed, err = c.keys.Seal(at, next); err != nil {
		return out, err
	}
	out.set = bsoncore.AppendBinaryElement(out.set, "body", bson.TypeBinaryGeneric, sealed)
	return out, nil
}

// update returns the update of a document.
func (c *change) update(d *document) mongo.WriteModel {
	update := bson.D{}
	if len(c.set) > 0 {
		update = append(update, bson.E{Key: "$set", Value: elements(c.set)})
	}
	if len(c.unset) > 0 {
		unset := bson.D{}
		for _, name := range c.unset {
			unset = append(unset, bson.E{Key: name, Value: ""})
		}
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	return mongo.NewUpdateOneModel().SetFilter(d.filter()).SetUpdate(update)
}

// elements returns a document of encoded elements.
func elements(encoded []byte) bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, len(encoded)+8))
	doc, _ = bsoncore.AppendDocumentEnd(append(doc, encoded...), start) // It fails for a start outside of doc alone.
	return doc
}

// moved returns the document under its new id.
func (c *change) moved(d *document) (bson.Raw, error) {
	set := elements(c.set)
	old, err := d.raw.Elements()
	if err != nil {
		return nil, err
	}
	start, doc := bsoncore.AppendDocumentStart(nil)
	for _, e := range old {
		next := set.Lookup(e.Key())
		switch {
		case e.Key() == "_id":
			doc = bsoncore.AppendBinaryElement(doc, "_id", bson.TypeBinaryUUID, c.id[:])
		case slices.Contains(c.unset, e.Key()):
		case !next.IsZero():
			doc = append(bsoncore.AppendHeader(doc, bsoncore.Type(next.Type), e.Key()), next.Value...)
		default:
			doc = append(doc, e...)
		}
	}
	return bsoncore.AppendDocumentEnd(doc, start)
}
