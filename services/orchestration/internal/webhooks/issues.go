package webhooks

import (
	"cmp"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// cause identifies the failures of one issue.
type cause struct {
	status       int64
	reason, text string
	line, column int64
}

// ListWebhookIssues groups the failures of a webhook's delivery log by their cause, the latest first. Replays are not counted,
// and neither are failures that were replayed with success.
func (s *Service) ListWebhookIssues(ctx context.Context, r *orchv1.ListWebhookIssuesRequest) (*orchv1.WebhookIssueList, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(r.GetId())
	if err != nil {
		return nil, err
	}
	oldestFirst := bson.D{{Key: "received", Value: 1}, {Key: "_id", Value: 1}}
	entries, err := s.deliveries.Find(ctx, info.Workspace, deliveriesOf(id), oldestFirst, 0, s.maxStored)
	if err != nil {
		return nil, err
	}
	list := &orchv1.WebhookIssueList{}
	issues := map[cause]*orchv1.WebhookIssue{}
	for _, d := range entries {
		if !deliverylog.Unresolved(d) {
			continue
		}
		key := cause{d.GetStatus(), d.GetReason(), d.GetError(), d.GetErrorLine(), d.GetErrorColumn()}
		issue := issues[key]
		if issue == nil {
			issue = &orchv1.WebhookIssue{
				Status: d.GetStatus(), Reason: d.Reason, Error: d.GetError(), Line: d.ErrorLine, Column: d.ErrorColumn, First: d.GetReceived(),
			}
			issues[key] = issue
			list.Issues = append(list.Issues, issue)
		}
		issue.Count += max(d.GetCount(), 1)
		issue.Last, issue.DeliveryId = d.GetReceived(), d.GetId()
	}
	slices.SortStableFunc(list.Issues, func(a, b *orchv1.WebhookIssue) int {
		return cmp.Or(b.GetLast().AsTime().Compare(a.GetLast().AsTime()), cmp.Compare(b.GetCount(), a.GetCount()))
	})
	return list, nil
}
