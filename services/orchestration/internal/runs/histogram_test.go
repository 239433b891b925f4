package runs

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestSpan(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(d)) }
	for _, c := range []struct {
		name     string
		end      *timestamppb.Timestamp
		interval float64
		buckets  int
		refused  bool
	}{
		{"whole", at(time.Minute), 20, 3, false},
		{"the last one is begun", at(61 * time.Second), 20, 4, false},
		{"one second", at(time.Second), 1, 1, false},
		{"fractions", at(3 * time.Second), 1.5, 2, false},
		{"no more than that many", at(time.Hour), 1, 500, false},
		{"nothing", at(0), 1, 0, false},
		{"backwards", at(-time.Hour), 1, 0, false},
		{"longer than any duration", at(time.Hour), math.MaxFloat64, 1, false},
		{"too short", at(time.Hour), 0.999, 0, true},
		{"negative", at(time.Hour), -1, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			span, err := NewSpan(at(0), c.end, c.interval)
			if c.refused {
				require.Equal(t, "History interval must not be less than 1 second.", rpc.HTTPError(err).GetDetail())
				return
			}
			require.NoError(t, err)
			require.Len(t, span.starts(), c.buckets)
		})
	}
	span, err := NewSpan(timestamppb.New(lastMoment.Add(-time.Second)), timestamppb.New(lastMoment), 100)
	require.NoError(t, err)
	require.Equal(t, lastMoment, span.after(span.Start))
}

// A selection with probes is counted in parts, with the same result.
func TestBuckets(t *testing.T) {
	t.Parallel()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()).SetDialer(server.ContextDialer()))
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Disconnect(t.Context())) }()
	db, ws := client.Database("history"), uuid.New()
	binary := func(u uuid.UUID) bson.Binary { return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: u[:]} }
	insert := func(c query.Collection, doc bson.D) {
		_, err := db.Collection(string(c)).InsertOne(t.Context(), append(doc, bson.E{Key: "ws", Value: binary(ws)}))
		require.NoError(t, err)
	}
	var flows []uuid.UUID
	for i := range 5 {
		flows = append(flows, uuid.New())
		insert(query.Flow, bson.D{{Key: "_id", Value: binary(flows[i])}, {Key: "name", Value: fmt.Sprintf("f-%d", i)}})
	}
	micros := func(d time.Duration) int64 { return noon.Add(d).UnixMicro() }
	run := func(number int, expected time.Duration, kind string, more ...bson.E) {
		doc := bson.D{
			{Key: "_id", Value: binary(uuid.New())},
			{Key: "flow_id", Value: binary(flows[number%5])},
			{Key: "expected_start_time", Value: micros(expected)},
			{Key: "state", Value: bson.D{{Key: "type", Value: kind}, {Key: "name", Value: kind}, {Key: "timestamp", Value: micros(expected)}}},
		}
		insert(query.FlowRun, append(doc, more...))
	}
	run(0, 0, "COMPLETED", bson.E{Key: "start_time", Value: micros(2 * time.Second)}, bson.E{Key: "total_run_time", Value: 1.5})
	run(1, 9*time.Second, "COMPLETED", bson.E{Key: "start_time", Value: micros(9 * time.Second)}, bson.E{Key: "total_run_time", Value: 2.0})
	run(2, 9*time.Second, "FAILED")
	run(3, 20*time.Second, "RUNNING", bson.E{Key: "start_time", Value: micros(20 * time.Second)}, bson.E{Key: "total_run_time", Value: 1.0})
	run(4, 21*time.Second, "PENDING")
	run(0, 30*time.Second, "COMPLETED") // The end of the last bucket is exclusive.
	run(1, -time.Microsecond, "COMPLETED")
	insert(query.FlowRun, bson.D{{Key: "_id", Value: binary(uuid.New())}, {Key: "expected_start_time", Value: micros(0)}})

	span, err := NewSpan(timestamppb.New(noon), timestamppb.New(noon.Add(25*time.Second)), 10)
	require.NoError(t, err)
	for name, resolver := range map[string]query.Resolver{"at once": {}, "in parts": {MaxIDs: 1, Batch: 2}} {
		resolver.Reader = query.NewReader(db)
		plan, err := query.NewPlan(query.FlowRun, &orchv1.FlowRunCountQuery{
			Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Like_: new("f-")}},
		})
		require.NoError(t, err)
		selection, err := resolver.Select(t.Context(), ws, plan)
		require.NoError(t, err)
		list, err := Buckets(t.Context(), selection, nil, span, noon.Add(40*time.Second))
		require.NoError(t, err)
		require.Len(t, list.GetHistory(), 3, name)
		var got []string
		for _, bucket := range list.GetHistory() {
			for _, s := range bucket.GetStates() {
				got = append(got, fmt.Sprintf("%s %s %s n=%d ran=%g late=%g", bucket.GetIntervalStart().AsTime().Format("05"),
					bucket.GetIntervalEnd().AsTime().Format("05"), s.GetStateName(), s.GetCountRuns(), s.GetSumEstimatedRunTime(), s.GetSumEstimatedLateness()))
			}
		}
		require.Equal(t, []string{
			"00 10 COMPLETED n=2 ran=3.5 late=2",
			"00 10 FAILED n=1 ran=0 late=0",
			"20 30 PENDING n=1 ran=0 late=19",
			"20 30 RUNNING n=1 ran=21 late=0",
		}, got, name)
	}
}
