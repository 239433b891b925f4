package storedjson

import (
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// computedOfRuns are the computed fields that flow runs and task runs share.
var computedOfRuns = []protoreflect.Name{"state_id", "state_type", "state_name", "estimated_run_time", "estimated_start_time_delta"}

// OfRuns returns the encoder of flow runs or task runs. present sets their computed fields.
func OfRuns[M proto.Message](runs *store.Collection[M], present func(run M, now time.Time) M) Encoder[M] {
	return New(runs, present, deriveRun, computedOfRuns...)
}

// deriveRun computes the computed fields of a run from its document.
func deriveRun(doc protobson.Stored, now time.Time, out [][]byte) bool {
	state := &orchv1.State{}
	if v := doc.Get("state"); v.Type != 0 {
		if !deriveState(v, state, out) {
			return false
		}
	} else {
		for i := range 3 {
			out[i] = append(out[i], "null"...)
		}
		state = nil
	}
	var total float64
	if v := doc.Get("total_run_time"); v.Type != 0 {
		var ok bool
		if total, ok = v.DoubleOK(); !ok {
			return false
		}
	}
	expected, ok := storedTime(doc.Get("expected_start_time"))
	start, started := storedTime(doc.Get("start_time"))
	if !ok || !started {
		return false
	}
	out[3] = restjson.AppendFloat(out[3], runs.RunTime(total, state, now))
	out[4] = restjson.AppendFloat(out[4], runs.Lateness(expected, start, state, now))
	return true
}

// deriveState writes the id, the type and the name of a stored state, and fills the fields that times depend on.
func deriveState(v bsoncore.Value, state *orchv1.State, out [][]byte) bool {
	stored, ok := v.DocumentOK()
	if !ok {
		return false
	}
	id, err := store.UUID(rawValue(stored.Lookup("id")))
	if err != nil {
		return false
	}
	out[0] = append(append(append(out[0], '"'), id.String()...), '"')
	stateType, ok := stored.Lookup("type").StringValueOK()
	if state.Type = rules.StateType(stateType); !ok || state.Type == orchv1.StateType_STATE_TYPE_UNSPECIFIED {
		return false
	}
	out[1] = append(append(append(out[1], '"'), stateType...), '"')
	if name := stored.Lookup("name"); name.Type == 0 {
		out[2] = append(out[2], "null"...)
	} else if text, ok := name.StringValueOK(); ok && utf8.ValidString(text) {
		out[2] = jsontoken.AppendString(out[2], text)
	} else {
		return false
	}
	at, ok := storedTime(stored.Lookup("timestamp"))
	state.Timestamp = at
	return ok
}

func rawValue(v bsoncore.Value) bson.RawValue {
	return bson.RawValue{Type: bson.Type(v.Type), Value: v.Data}
}

// storedTime reads a stored time; nil if it is absent.
func storedTime(v bsoncore.Value) (*timestamppb.Timestamp, bool) {
	if v.Type == 0 {
		return nil, true
	}
	micros, ok := v.Int64OK()
	return timestamppb.New(time.UnixMicro(micros)), ok
}
