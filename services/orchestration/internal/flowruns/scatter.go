package flowruns

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"golang.org/x/sync/errgroup"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// scatterParts is the number of parts of a window that are read separately for each state.
	scatterParts = 2
	// scatterReads bounds the reads at once.
	scatterReads = 4
)

// scatterFields are read where the entries of an index do not suffice.
var scatterFields = []string{"expected_start_time", "total_run_time", "state.timestamp"}

// ReadFlowRunScatter counts the matching runs of a window by start, duration and state. It reads all of them: where the index by
// state and time decides the filter, its entries instead of documents. The duration of a running run is that until now.
func (s *Service) ReadFlowRunScatter(ctx context.Context, r *orchv1.ReadFlowRunScatterRequest) (*orchv1.FlowRunScatter, error) {
	q := r.GetQuery()
	start, end := q.GetStart().AsTime(), q.GetEnd().AsTime()
	if !start.Before(end) {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "The window must start before it ends.")
	}
	selection, err := s.source.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	whole, now := runs.NewGrid(start, end, q.GetColumns()), s.runs.Store().Now()
	var mu sync.Mutex // Of whole.
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scatterReads)
	states := orchv1.StateType(0).Descriptor().Values()
	for i := 1; i < states.Len(); i++ {
		state := orchv1.StateType(states.Get(i).Number())
		for part := range scatterParts {
			from := start.Add(end.Sub(start) / scatterParts * time.Duration(part))
			to := end
			if part+1 < scatterParts {
				to = start.Add(end.Sub(start) / scatterParts * time.Duration(part+1))
			}
			group.Go(func() error {
				grid := runs.NewGrid(start, end, q.GetColumns())
				if err := scatter(ctx, selection, grid, state, from, to, now); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				whole.Merge(grid)
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return whole.Scatter(q.GetRows()), nil
}

// scatter adds the selected runs of a state in a part of the window to a grid.
func scatter(ctx context.Context, selected *query.Selection, grid *runs.Grid, state orchv1.StateType, from, to, now time.Time) error {
	within := bson.D{
		{Key: "state.type", Value: rules.StateName(state)},
		{Key: "expected_start_time", Value: bson.D{{Key: "$gte", Value: from.UnixMicro()}, {Key: "$lt", Value: to.UnixMicro()}}},
	}
	add := func(doc bson.Raw) error {
		run, err := readPoint(doc)
		if err != nil {
			return err
		}
		if state == orchv1.StateType_STATE_TYPE_RUNNING && run.entered != 0 {
			run.seconds += max(0, now.Sub(time.UnixMicro(run.entered)).Seconds())
		}
		grid.Add(run.id, state, run.expected, run.seconds)
		return nil
	}
	if state != orchv1.StateType_STATE_TYPE_RUNNING { // Its duration needs the time of the state, which the index does not have.
		if decided, err := selected.VisitEntries(ctx, within, query.FlowRunsByStateAndTime, add); decided || err != nil {
			return err
		}
	}
	return selected.VisitFields(ctx, within, scatterFields, add)
}

// point is what the scatter reads of a run.
type point struct {
	id uuid.UUID
	// expected and entered are the expected start and the time of the state, in microseconds; 0 if the run has none.
	expected, entered int64
	seconds           float64
}

// readPoint reads a document or an index entry in one pass: a scatter reads hundreds of thousands.
func readPoint(doc bson.Raw) (p point, err error) {
	_, rest, ok := bsoncore.ReadLength(bsoncore.Document(doc))
	for ok && len(rest) > 1 {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			break
		}
		switch string(e.KeyBytes()) {
		case "_id":
			v := e.Value()
			if p.id, err = store.UUID(bson.RawValue{Type: bson.Type(v.Type), Value: v.Data}); err != nil {
				return p, err
			}
		case "expected_start_time":
			p.expected, _ = e.Value().AsInt64OK()
		case "total_run_time":
			p.seconds, _ = e.Value().AsFloat64OK()
		case "state":
			if state, isDocument := e.Value().DocumentOK(); isDocument {
				p.entered, _ = state.Lookup("timestamp").AsInt64OK()
			}
		}
	}
	if !ok {
		return p, errors.New("read a point of the scatter: malformed document")
	}
	return p, nil
}
