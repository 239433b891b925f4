package runs

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// row is one group of runs.
type row struct {
	Group struct {
		Bucket float64 `bson:"bucket"`
		Type   string  `bson:"type"`
		Name   string  `bson:"name"`
	} `bson:"_id"`
	Count    int64   `bson:"count"`
	RunTime  float64 `bson:"run_time"`
	Lateness float64 `bson:"lateness"`
}

// stages groups runs by bucket and state. The expressions compute the estimated run time and the lateness as flow runs
// and task runs present them. Times are in microseconds.
func stages(span Span, now time.Time) []bson.D {
	moment := now.UnixMicro()
	runTime := op("$add",
		op("$ifNull", "$total_run_time", 0),
		op("$cond", op("$eq", "$state.type", "RUNNING"), seconds(op("$max", 0, op("$subtract", moment, "$state.timestamp"))), 0))
	return []bson.D{
		{{Key: "$match", Value: bson.D{{Key: "state.type", Value: bson.D{{Key: "$exists", Value: true}}}}}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{
				{Key: "bucket", Value: op("$floor", op("$divide",
					op("$subtract", "$expected_start_time", span.Start.UnixMicro()), span.Interval.Microseconds()))},
				{Key: "type", Value: "$state.type"},
				{Key: "name", Value: "$state.name"},
			}},
			{Key: "count", Value: op("$sum", int64(1))},
			{Key: "run_time", Value: bson.D{{Key: "$sum", Value: runTime}}},
			{Key: "lateness", Value: bson.D{{Key: "$sum", Value: LatenessExpression(now)}}},
		}}},
	}
}

// LatenessExpression is the delay of a run's start in seconds: actual, or so far. It is 0 when the run is on time or will not
// start.
func LatenessExpression(now time.Time) bson.D {
	moment := now.UnixMicro()
	started := op("$gt", "$start_time", "$expected_start_time")
	overdue := op("$and",
		op("$eq", op("$ifNull", "$start_time", nil), nil),
		op("$lt", "$expected_start_time", moment),
		op("$not", op("$in", "$state.type", States(rules.Terminal))))
	return op("$cond", overdue, seconds(op("$subtract", moment, "$expected_start_time")),
		op("$cond", started, seconds(op("$subtract", "$start_time", "$expected_start_time")), 0))
}

func seconds(micros any) bson.D { return op("$divide", micros, 1e6) }

// op returns an expression; one operand is passed alone, several as a list.
func op(name string, operands ...any) bson.D {
	if len(operands) == 1 {
		return bson.D{{Key: name, Value: operands[0]}}
	}
	return bson.D{{Key: name, Value: bson.A(operands)}}
}
