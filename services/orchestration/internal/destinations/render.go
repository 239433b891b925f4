package destinations

import (
	"context"
	"fmt"
	"sync"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
)

// maxBody bounds the body of a delivery, in bytes. It exceeds that of an event.
const maxBody = 2 << 20

// render returns the body of an event by the first subscription that takes the event. It returns false if none does.
func (s *Sender) render(ctx context.Context, d *orchv1.Destination, event *orchv1.ReceivedEvent) (body string, matches bool, err error) {
	end, err := s.renderings.Begin(ctx, len(event.GetPayload()))
	if err != nil {
		return "", false, err
	}
	defer end()
	vars := sync.OnceValue(func() jinja.Vars { // The values of an event may be many.
		return jinja.Vars{"event": action.EventValue(s.service.Vocabulary, s.service.UIURL, event)}
	})
	for i, subscription := range d.GetSubscriptions() {
		if _, expected := filterOf(subscription).Matches(event); !expected {
			continue
		}
		matches, err := s.service.passes(ctx, subscription, vars)
		if err != nil {
			return "", false, fmt.Errorf("filter of subscription %d: %w", i+1, err)
		}
		if !matches {
			continue
		}
		body, err := s.service.body(ctx, subscription, event, vars)
		if err != nil {
			return "", false, fmt.Errorf("template of subscription %d: %w", i+1, err)
		}
		return body, true, nil
	}
	return "", false, nil
}

// passes reports whether an event passes the filter of a subscription.
func (s *Service) passes(ctx context.Context, subscription *orchv1.DestinationSubscription, vars func() jinja.Vars) (bool, error) {
	if subscription.Filter == nil {
		return true, nil
	}
	filter, err := s.templates.CachedExpression(subscription.GetFilter())
	if err != nil {
		return false, err
	}
	return filter.Test(ctx, vars())
}

// body returns the body of an event: the text of the template, or the event as the API shows it.
func (s *Service) body(ctx context.Context, subscription *orchv1.DestinationSubscription, event *orchv1.ReceivedEvent, vars func() jinja.Vars) (string, error) {
	if subscription.Template == nil {
		text, err := restjson.Marshal(event)
		return string(text), err
	}
	template, err := s.templates.Cached(subscription.GetTemplate())
	if err != nil {
		return "", err
	}
	return template.Render(ctx, vars())
}
