package protobson

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/structpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// FuzzUnmarshal reads arbitrary bytes as every message. It never panics, and data that it accepts survive a round trip.
func FuzzUnmarshal(f *testing.F) {
	full, err := Marshal(flowRun())
	require.NoError(f, err)
	f.Add([]byte(full), uint16(0))
	all := contractMessages(f)
	for i, mt := range all {
		if mt.Descriptor().Name() == "FlowRun" {
			f.Add([]byte(full), uint16(i))
		}
	}
	for _, d := range []any{
		bson.D{{Key: "id", Value: 1}},
		bson.D{{Key: "tags", Value: bson.A{"a", 1}}},
		bson.D{{Key: "fields", Value: bson.D{{Key: "a", Value: bson.D{}}}}},
	} {
		raw, err := bson.Marshal(d)
		require.NoError(f, err)
		f.Add(raw, uint16(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, which uint16) {
		m := all[int(which)%len(all)].New().Interface()
		for _, read := range []func(bson.Raw) error{
			func(r bson.Raw) error { return Unmarshal(r, m) },
			func(r bson.Raw) error { return UnmarshalDocument(r, m) },
		} {
			if read(raw) != nil {
				continue
			}
			again, err := Marshal(m)
			require.NoError(t, err)
			require.NoError(t, again.Validate())
		}
		_ = Unmarshal(raw, &structpb.Struct{})
		_ = Unmarshal(raw, &orchv1.EventFilter{})
	})
}
