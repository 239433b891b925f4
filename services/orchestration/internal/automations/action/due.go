package action

import (
	"bytes"
	"context"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

// duePage is how many due runs one read returns. It exceeds the limit of a workspace.
const duePage = 4 * maxShare

// dispatchDue begins the due runs within the limits, workspace by workspace in the order of their ids. It begins after a workspace,
// continues with the first one, and returns the cursor of the next scan. So a workspace with many due runs hides no other one.
func (r *Runner) dispatchDue(
	ctx context.Context, from uuid.UUID, busy *workspacelimit.Limiter, begin func(store.Owned[*orchv1.AutomationActionRun]),
) (next uuid.UUID, err error) {
	due := bson.E{Key: "next", Value: bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: r.Store.Now().UnixMicro()}}}
	for after, wrapped := from, from == uuid.Nil; ; {
		found, err := r.runs.FindAcross(ctx, store.Query{Filter: bson.D{{Key: "ws", Value: bson.D{{Key: "$gt", Value: store.Binary(after)}}}, due}, Sort: bson.D{{Key: "ws", Value: 1}, {Key: "next", Value: 1}}, Limit: duePage})
		if err != nil {
			return from, err
		}
		for _, one := range found {
			if wrapped && from != uuid.Nil && bytes.Compare(one.Workspace[:], from[:]) > 0 {
				return uuid.Nil, nil // All workspaces were looked at.
			}
			if busy.Full() {
				return after, nil
			}
			if busy.Acquire(one.Workspace, one.Message.GetId()) {
				begin(one)
			}
			after = one.Workspace
		}
		switch {
		case len(found) == duePage:
			after = resume(found)
		case wrapped:
			return uuid.Nil, nil
		default:
			after, wrapped = uuid.Nil, true
		}
	}
}

// resume returns the workspace after which a full page is continued. The last workspace of a page may be incomplete, unless
// the page has no other one: then it has more than its limit.
func resume(page []store.Owned[*orchv1.AutomationActionRun]) uuid.UUID {
	last := page[len(page)-1].Workspace
	for _, one := range slices.Backward(page) {
		if one.Workspace != last {
			return one.Workspace
		}
	}
	return last
}
