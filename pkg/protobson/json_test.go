package protobson

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// storedEncoder returns the encoder of a message without its computed fields, which write null; nil if there is none.
func storedEncoder(mt protoreflect.MessageType) *JSONEncoder {
	var names []protoreflect.Name
	for i := range mt.Descriptor().Fields().Len() {
		if fd := mt.Descriptor().Fields().Get(i); restjson.Computed(fd) && !restjson.Internal(fd) {
			names = append(names, fd.Name())
		}
	}
	e, err := NewJSONEncoder(mt.New().Interface(), func(_ Stored, _ time.Time, out [][]byte) bool {
		for i, name := range names {
			text, err := restjson.AppendField(nil, mt.New(), mt.Descriptor().Fields().ByName(name))
			if err != nil {
				return false
			}
			out[i] = append(out[i], text...)
		}
		return true
	}, names...)
	if err != nil {
		return nil
	}
	return e
}

// agree checks that an encoder writes what the message would: the same bytes, or nothing.
func agree(t require.TestingT, mt protoreflect.MessageType, e *JSONEncoder, doc bson.Raw) (written bool) {
	got, ok := e.AppendDocument([]byte("before"), doc, time.Time{})
	if !ok {
		require.Equal(t, "before", string(got))
		return false
	}
	m := mt.New().Interface()
	require.NoError(t, UnmarshalDocument(doc, m))
	want, err := restjson.Append([]byte("before"), m)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	return true
}

// TestJSONOfDocumentsIsThatOfMessages checks random documents of every message of the contract that has an encoder.
func TestJSONOfDocumentsIsThatOfMessages(t *testing.T) {
	t.Parallel()
	encoders := 0
	for _, mt := range contractMessages(t) {
		e := storedEncoder(mt)
		if e == nil || planOf(mt.Descriptor()).form != formDocument {
			continue
		}
		encoders++
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := mt.New()
				generateInto(t, m, 4)
				doc, err := MarshalDocument(m.Interface())
				if err != nil {
					doc, err = Marshal(m.Interface())
				}
				require.NoError(t, err)
				written := agree(t, mt, e, doc)
				if _, err := restjson.Marshal(m.Interface()); err == nil && !hasFloat(mt.Descriptor()) {
					require.True(t, written, "left to the message")
				}
			})
		})
	}
	require.Greater(t, encoders, 200)
}

// hasFloat reports whether a message has a field that only the message's encoder writes.
func hasFloat(md protoreflect.MessageDescriptor) bool {
	for i := range md.Fields().Len() {
		if md.Fields().Get(i).Kind() == protoreflect.FloatKind {
			return true
		}
	}
	return false
}

// The messages of the resources that lists return have encoders.
func TestResourcesHaveJSONEncoders(t *testing.T) {
	t.Parallel()
	for _, m := range []proto.Message{
		&orchv1.Flow{}, &orchv1.FlowRun{}, &orchv1.TaskRun{}, &orchv1.Log{}, &orchv1.Variable{}, &orchv1.Artifact{},
	} {
		require.NotNil(t, storedEncoder(m.ProtoReflect().Type()), m.ProtoReflect().Descriptor().Name())
	}
	_, err := NewJSONEncoder(&orchv1.FlowRun{}, nil)
	require.ErrorIs(t, err, ErrMessage, "computed fields need Derive")
	_, err = NewJSONEncoder(&orchv1.Flow{}, nil, "no_field")
	require.ErrorIs(t, err, ErrMessage)
}

// Fields in another order than documents usually have, fields of the envelope and unknown ones change nothing.
func TestJSONOfUpdatedDocuments(t *testing.T) {
	t.Parallel()
	mt := (&orchv1.FlowRun{}).ProtoReflect().Type()
	doc, err := MarshalDocument(flowRun())
	require.NoError(t, err)
	var d bson.D
	require.NoError(t, bson.Unmarshal(doc, &d))
	for i, j := 0, len(d)-1; i < j; i, j = i+1, j-1 {
		d[i], d[j] = d[j], d[i]
	}
	d = append(d, bson.E{Key: "ws", Value: "x"}, bson.E{Key: "rev", Value: int64(1)}, bson.E{Key: "unknown", Value: bson.A{1}}, bson.E{Key: "id", Value: "x"})
	reversed, err := bson.Marshal(d)
	require.NoError(t, err)
	require.True(t, agree(t, mt, storedEncoder(mt), reversed))
	require.False(t, agree(t, mt, storedEncoder(mt), append(bson.Raw(nil), reversed[:len(reversed)-1]...)), "cut")
	twice, err := bson.Marshal(append(d, d[3]))
	require.NoError(t, err)
	require.False(t, agree(t, mt, storedEncoder(mt), twice), "a duplicate field")
}

// FuzzJSONOfDocuments compares arbitrary bytes: the encoder writes what the message does, or leaves them to it.
func FuzzJSONOfDocuments(f *testing.F) {
	all := contractMessages(f)
	encoders := make([]*JSONEncoder, len(all))
	for i, mt := range all {
		encoders[i] = storedEncoder(mt)
		if mt.Descriptor().Name() == "FlowRun" {
			doc, err := MarshalDocument(flowRun())
			require.NoError(f, err)
			f.Add([]byte(doc), uint16(i))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, which uint16) {
		i := int(which) % len(all)
		if encoders[i] != nil && planOf(all[i].Descriptor()).form == formDocument {
			agree(t, all[i], encoders[i], raw)
		}
	})
}
