package webhooks

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadWebhook answers a webhook.
func (s *Service) ReadWebhook(ctx context.Context, r *orchv1.ReadWebhookRequest) (*orchv1.Webhook, error) {
	info, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	w, err := s.webhooks.Get(ctx, info.Workspace, id)
	if err != nil {
		return nil, translate(err)
	}
	return present(info, w), nil
}

// ListWebhooks answers the webhooks by name, all of them or those of one name.
func (s *Service) ListWebhooks(ctx context.Context, r *orchv1.ListWebhooksRequest) (*orchv1.WebhookList, error) {
	var filter *orchv1.WebhookFilter
	if r.Name != nil {
		filter = &orchv1.WebhookFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{r.GetName()}}}}
	}
	return s.find(ctx, filter, orchv1.WebhookSort_WEBHOOK_SORT_NAME_ASC, r.GetLimit(), r.GetOffset())
}

// ReadWebhooks answers the webhooks that match.
func (s *Service) ReadWebhooks(ctx context.Context, r *orchv1.ReadWebhooksRequest) (*orchv1.WebhookList, error) {
	q := r.GetQuery()
	return s.find(ctx, q.GetWebhooks(), q.GetSort(), q.GetLimit(), q.GetOffset())
}

func (s *Service) find(ctx context.Context, filter *orchv1.WebhookFilter, order orchv1.WebhookSort, limit *orchv1.PageLimit, offset int64) (*orchv1.WebhookList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	size, err := page.Limit(limit)
	if err != nil {
		return nil, err
	}
	compiled, sort, err := compileFilter(filter, order)
	if err != nil {
		return nil, err
	}
	found, err := s.webhooks.Find(ctx, info.Workspace, compiled, sort, offset, size)
	if err != nil {
		return nil, err
	}
	for _, w := range found {
		present(info, w)
	}
	return &orchv1.WebhookList{Webhooks: found}, nil
}

// CountWebhooks counts the webhooks that match.
func (s *Service) CountWebhooks(ctx context.Context, r *orchv1.CountWebhooksRequest) (*orchv1.CountResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	compiled, _, err := compileFilter(r.GetQuery().GetWebhooks(), orchv1.WebhookSort_WEBHOOK_SORT_NAME_ASC)
	if err != nil {
		return nil, err
	}
	n, err := s.webhooks.Count(ctx, info.Workspace, compiled)
	return &orchv1.CountResponse{Count: n}, err
}

func compileFilter(filter *orchv1.WebhookFilter, order orchv1.WebhookSort) (compiled, sort bson.D, err error) {
	criteria, err := query.Compile(filter)
	if err != nil {
		return nil, nil, err
	}
	if compiled, err = criteria.BSON(); err != nil {
		return nil, nil, err
	}
	if order == orchv1.WebhookSort_WEBHOOK_SORT_UNSPECIFIED {
		order = orchv1.WebhookSort_WEBHOOK_SORT_NAME_ASC
	}
	sort, err = query.Sort(order)
	return compiled, sort, err
}
