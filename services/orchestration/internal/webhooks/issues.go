package webhooks

import (
	"cmp"
	"context"
	"slices"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
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
	list := &orchv1.WebhookIssueList{}
	issues := map[cause]*orchv1.WebhookIssue{}
	err = s.deliveries.Each(ctx, info.Workspace, store.Query{Filter: ofWebhook(id), Sort: oldestFirst}, func(d *orchv1.WebhookDelivery) bool {
		if !deliverylog.Unresolved(d) {
			return true
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
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Issues, func(a, b *orchv1.WebhookIssue) int {
		return cmp.Or(b.GetLast().AsTime().Compare(a.GetLast().AsTime()), cmp.Compare(b.GetCount(), a.GetCount()))
	})
	return list, nil
}
