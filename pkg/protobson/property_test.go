package protobson

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
)

// TestEveryMessageSurvives checks the round trip of random messages of every type of the contract.
func TestEveryMessageSurvives(t *testing.T) {
	t.Parallel()
	for _, mt := range contractMessages(t) {
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			if planOf(mt.Descriptor()).form != formDocument {
				_, err := Marshal(mt.New().Interface())
				require.ErrorIs(t, err, ErrMessage)
				return
			}
			rapid.Check(t, func(t *rapid.T) {
				m := mt.New()
				generateInto(t, m, 4)
				want := m.Interface()

				raw, err := Marshal(want)
				require.NoError(t, err)
				require.NoError(t, raw.Validate())
				got := mt.New().Interface()
				require.NoError(t, Unmarshal(raw, got))
				requireSame(t, want, got)

				again, err := Marshal(got)
				require.NoError(t, err)
				require.Equal(t, raw, again, "equal messages make equal documents")

				doc, err := MarshalDocument(want)
				if errors.Is(err, ErrMessage) || errors.Is(err, ErrValue) {
					return
				}
				require.NoError(t, err)
				require.NoError(t, UnmarshalDocument(doc, got))
				requireSame(t, want, got)
			})
		})
	}
}

// TestSetIsWhatInsertWrites checks that setting every field of a message equals inserting it.
func TestSetIsWhatInsertWrites(t *testing.T) {
	t.Parallel()
	for _, mt := range contractMessages(t) {
		p := planOf(mt.Descriptor())
		if p.form != formDocument || p.reserved != "" {
			continue
		}
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := mt.New()
				generateInto(t, m, 3)
				if p.id != nil {
					m.Clear(p.id.fd)
				}
				var mask []string
				for _, f := range p.fields {
					if f != p.id {
						mask = append(mask, f.key)
					}
				}
				set, unset, err := AppendSet(nil, m.Interface(), mask)
				require.NoError(t, err)
				raw := bson.Raw(bsoncore.BuildDocument(nil, set))
				elements, err := raw.Elements()
				require.NoError(t, err)
				require.Equal(t, len(mask), len(elements)+len(unset))
				inserted, err := Marshal(m.Interface())
				require.NoError(t, err)
				others, err := inserted.Elements()
				require.NoError(t, err)
				// An update never has the id. An insert has an empty one unless its format is a UUID.
				others = slices.DeleteFunc(others, func(e bson.RawElement) bool { return p.id != nil && e.Key() == p.id.key })
				require.Equal(t, bson.Raw(bsoncore.BuildDocument(nil, slices.Concat(others...))), raw)
				got := mt.New().Interface()
				require.NoError(t, Unmarshal(raw, got))
				require.True(t, proto.Equal(m.Interface(), got))
			})
		})
	}
}

// requireSame compares by proto.Equal, which takes a fraction of the time of a difference. It makes a difference only to report one.
func requireSame(t require.TestingT, want, got proto.Message) {
	if !proto.Equal(want, got) {
		require.Fail(t, "messages differ", cmp.Diff(want, got, protocmp.Transform()))
	}
}
