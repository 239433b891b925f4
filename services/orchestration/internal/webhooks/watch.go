package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/webhooks/health"
)

// watchBatch is the number of webhooks that a pass of the watcher reads at a time.
const watchBatch = 200

// Watch examines the webhooks whose window ended or that are silent. It returns the number of examined webhooks. Several
// replicas may execute it concurrently.
func (s *Service) Watch(ctx context.Context) (int, error) {
	examined := 0
	pass := s.watches.Store().Pass(ctx, "examine a webhook")
	for {
		now := s.watches.Store().Now()
		due := bson.D{{Key: "due", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}}}
		found, err := s.watches.FindAcross(ctx, store.Query{Filter: due, Sort: bson.D{{Key: "due", Value: 1}}, Limit: watchBatch})
		if err != nil {
			return examined, err
		}
		progress := examined
		for _, one := range found {
			err := s.examine(ctx, one.Workspace, one.Message, now)
			if pass.Record(err, "workspace", one.Workspace, "webhook_id", one.Message.GetId()) != nil {
				return examined, pass.Err()
			}
			if err == nil {
				examined++
			}
		}
		if len(found) < watchBatch || examined == progress {
			return examined, pass.Err()
		}
	}
}

func (s *Service) examine(ctx context.Context, ws uuid.UUID, watch *orchv1.WebhookWatch, now time.Time) error {
	id, err := uuid.Parse(watch.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a watch: %w", err)
	}
	err = s.changeWatch(ctx, ws, id, func(w *orchv1.WebhookWatch) []health.Transition { return s.health.Examine(w, now) })
	if isNotFound(err) {
		return nil
	}
	return err
}

// countTraffic adds the requests that processes of the hooks service counted. A count that arrives again changes nothing. It
// returns an outage; a webhook whose watch fails loses the count.
func (s *Service) countTraffic(ctx context.Context, traffic []*orchv1.WebhookTraffic) error {
	byWebhook := map[owner][]*orchv1.WebhookTraffic{}
	for _, t := range traffic {
		ws, err := uuid.Parse(t.GetWorkspace())
		id, err2 := uuid.Parse(t.GetWebhookId())
		if err := errors.Join(err, err2); err != nil || t.GetSource() == nil || t.GetLast() == nil {
			s.log.ErrorContext(ctx, "failed to read counts of requests", "webhook_id", t.GetWebhookId(), "error", err)
			continue
		}
		byWebhook[owner{ws, id}] = append(byWebhook[owner{ws, id}], t)
	}
	pass := s.watches.Store().Pass(ctx, "count requests of a webhook")
	for key, counts := range byWebhook {
		count := func(w *orchv1.WebhookWatch) (changes []health.Transition) {
			for _, t := range counts {
				changes = append(changes, s.health.Count(w, t, s.watches.Store().Now())...)
			}
			return changes
		}
		err := s.changeWatch(ctx, key.ws, key.webhook, count)
		if isNotFound(err) {
			err = s.beginWatch(ctx, key.ws, key.webhook, count)
		}
		if pass.Record(err, "workspace", key.ws, "webhook_id", key.webhook) != nil {
			break
		}
	}
	return pass.Outage()
}

// beginWatch begins to watch a webhook, and applies a change. A webhook that was deleted is not watched: it is read after the
// watch is inserted, because a concurrent deletion deletes the watch after the webhook.
func (s *Service) beginWatch(ctx context.Context, ws, id uuid.UUID, edit func(*orchv1.WebhookWatch) []health.Transition) error {
	if err := s.watches.Insert(ctx, ws, &orchv1.WebhookWatch{Id: id.String()}); err != nil && !errors.Is(err, store.ErrDuplicate) {
		return err
	}
	switch _, err := s.webhooks.Get(ctx, ws, id); {
	case isNotFound(err):
		return s.unwatch(ctx, ws, id)
	case err != nil:
		return err
	}
	return s.changeWatch(ctx, ws, id, edit)
}

// follow applies the settings of a changed webhook to its watch. A disabled webhook is not silent.
func (s *Service) follow(ctx context.Context, ws, id uuid.UUID, w *orchv1.Webhook) error {
	maxSilence := w.MaxSilence
	if !w.GetEnabled() {
		maxSilence = nil
	}
	edit := func(watch *orchv1.WebhookWatch) []health.Transition {
		s.health.Follow(watch, w.GetName(), maxSilence, s.watches.Store().Now())
		return nil
	}
	err := s.changeWatch(ctx, ws, id, edit)
	if !isNotFound(err) {
		return err
	}
	if maxSilence == nil {
		return nil // The first request begins the watch.
	}
	return s.beginWatch(ctx, ws, id, edit)
}

// unwatch forgets a deleted webhook.
func (s *Service) unwatch(ctx context.Context, ws, id uuid.UUID) error {
	return s.watches.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: store.Binary(id)}})
}

// changeWatch applies a change by compare-and-set. The events of its transitions are effects of the same write.
func (s *Service) changeWatch(ctx context.Context, ws, id uuid.UUID, edit func(*orchv1.WebhookWatch) []health.Transition) error {
	caused := false
	_, err := s.watches.Mutate(ctx, ws, id, func(current *orchv1.WebhookWatch, _ int64) (*store.Change[*orchv1.WebhookWatch], error) {
		next := proto.CloneOf(current)
		transitions := edit(next)
		if proto.Equal(current, next) {
			return nil, nil
		}
		change := &store.Change[*orchv1.WebhookWatch]{Message: next}
		for _, t := range transitions {
			published, err := s.health.Events(s.vocab, next, t, s.watches.Store().Now())
			if err != nil {
				return nil, err
			}
			for _, event := range published {
				effect, err := events.Publish(ws, event)
				if err != nil {
					return nil, err
				}
				change.Effects = append(change.Effects, effect)
			}
		}
		caused = len(change.Effects) > 0
		return change, nil
	})
	if err == nil && caused {
		s.flush.Flush(ctx, query.WebhookWatch, ws, id)
	}
	return err
}
