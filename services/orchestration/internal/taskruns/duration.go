package taskruns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxByDuration bounds the runs that are ordered by duration. The duration of a running run grows, so no index has that order.
const maxByDuration = 5000

var errTooManyByDuration = errors.New("too many task runs to order by duration")

// timed is a run with what its place in the order by duration depends on.
type timed struct {
	id       uuid.UUID
	seconds  float64
	expected time.Time
}

// byDuration reports whether a sort is by duration, and whether the longest runs come first.
func byDuration(sort orchv1.TaskRunSort) (longestFirst, ok bool) {
	longestFirst = sort == orchv1.TaskRunSort_TASK_RUN_SORT_DURATION_DESC
	return longestFirst, longestFirst || sort == orchv1.TaskRunSort_TASK_RUN_SORT_DURATION_ASC
}

// durationPage returns the size of a page by duration. Such a page is selected by its offset or number: a running run changes its
// place, so a token would skip runs or repeat them.
func durationPage(token string, limit *orchv1.PageLimit) (int64, error) {
	if token != "" {
		return 0, rpc.Detail(http.StatusUnprocessableEntity, "An order by duration has no page tokens: use an offset or a page number.")
	}
	return pagination.Limit(limit)
}

// listByDuration returns the runs at some places of the order by duration, and the number of all that match. Runs of the same
// duration are ordered by their expected start and then by their id, the latest first in both orders.
func (s *Service) listByDuration(ctx context.Context, q proto.Message, longestFirst bool, offset, limit int64) (list []*orchv1.TaskRun, total int64, err error) {
	matching, err := s.durations(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(matching, func(a, b timed) int {
		bySeconds := cmp.Compare(a.seconds, b.seconds)
		if longestFirst {
			bySeconds = -bySeconds
		}
		return cmp.Or(bySeconds, b.expected.Compare(a.expected), bytes.Compare(b.id[:], a.id[:]))
	})
	total = int64(len(matching))
	first := min(offset, total)
	page := matching[first : first+min(limit, total-first)]
	if len(page) == 0 {
		return nil, total, nil
	}
	ids := make([]uuid.UUID, len(page))
	for i, one := range page {
		ids[i] = one.id
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, 0, err
	}
	found, err := s.runs.Find(ctx, info.Workspace, store.Query{Filter: bson.D{{Key: "_id", Value: store.OneOf(ids)}}, Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, 0, err
	}
	byID := make(map[string]*orchv1.TaskRun, len(found))
	for _, run := range found {
		byID[run.GetId()] = run
	}
	for _, id := range ids {
		if run := byID[id.String()]; run != nil { // It may have been deleted meanwhile.
			list = append(list, run)
		}
	}
	return list, total, nil
}

// durations returns the matching runs in no order, or a 422 if they are too many.
func (s *Service) durations(ctx context.Context, q proto.Message) ([]timed, error) {
	selection, err := s.source.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	now := s.runs.Store().Now()
	var matching []timed
	err = selection.VisitFields(ctx, nil, []string{"total_run_time", "state", "expected_start_time"}, func(doc bson.Raw) error {
		if len(matching) == maxByDuration {
			return errTooManyByDuration
		}
		run, err := s.runs.Decode(doc)
		if err != nil {
			return err
		}
		id, err := uuid.Parse(run.GetId())
		if err != nil {
			return fmt.Errorf("read the id of a task run: %w", err)
		}
		matching = append(matching, timed{id, runs.RunTime(run.GetTotalRunTime(), run.GetState(), now), run.GetExpectedStartTime().AsTime()})
		return nil
	})
	if errors.Is(err, errTooManyByDuration) {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
			"More than %d task runs match, which is too many to order by duration. Narrow the filter, or sort by EXPECTED_START_TIME_DESC or ID_DESC.", maxByDuration))
	}
	return matching, err
}
