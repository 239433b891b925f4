// Package webhooks keeps webhooks: addresses that turn any system's HTTP request into an event.
//
// The hooks service answers requests without asking anyone, from a catalogue that this package keeps equal to the
// store. A change is written to the store first and reaches the catalogue as an effect, before the call is answered
// where the broker allows it.
//
//	create, update, rotate, delete ──► store (with the effect) ──► catalogue[key of the slug] ──► every hooks replica
package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Service serves webhooks.
type Service struct {
	orchv1.UnimplementedWebhookServiceServer
	webhooks  *store.Collection[*orchv1.Webhook]
	source    page.Source[*orchv1.Webhook]
	catalogue *broker.KV
	tenancy   *tenancy.Registry
	// compile tells what is wrong with a template, at save rather than at the first request.
	compile func(template string) error
	// flush carries out the effects of a webhook's document now.
	flush func(ctx context.Context, collection query.Collection, id uuid.UUID) error
	log   *slog.Logger
}

// Deps are what the service works with.
type Deps struct {
	Store     *store.Store
	Catalogue *broker.KV
	Tenancy   *tenancy.Registry
	Compile   func(template string) error
	Flush     func(ctx context.Context, collection query.Collection, id uuid.UUID) error
	Log       *slog.Logger
}

// New returns the service.
func New(d Deps) *Service {
	webhooks := store.NewCollection(d.Store, query.Webhook, &orchv1.Webhook{})
	return &Service{
		webhooks:  webhooks,
		source:    page.NewSource(webhooks, orchv1.WebhookSort_WEBHOOK_SORT_NAME_ASC),
		catalogue: d.Catalogue,
		tenancy:   d.Tenancy,
		compile:   d.Compile,
		flush:     d.Flush,
		log:       d.Log,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Webhook not found")
	}
	return err
}

// locate reads what the gateway tells of a call, and an id that the contract has checked.
func locate(ctx context.Context, id string) (request.Info, uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, uuid.Nil, err
	}
	parsed, err := call.ParseID(id)
	return info, parsed, err
}

// present fills in what a webhook shows and does not store.
func present(info request.Info, w *orchv1.Webhook) *orchv1.Webhook {
	w.Workspace = info.Workspace.String()
	w.Url = info.HooksURL + "/" + w.GetSlug()
	return w
}

// slugBytes is how many random bytes a slug has: it is the webhook's secret.
const slugBytes = 16

func newSlug() string {
	random := make([]byte, slugBytes)
	_, _ = rand.Read(random) // It never fails: the process ends instead.
	return base64.RawURLEncoding.EncodeToString(random)
}

// spread carries the change to the catalogue before the call is answered. While the broker is away the answer does not
// wait for it: the change is stored and follows, and nothing is accepted under the old definition meanwhile, as every
// acceptance needs the broker too.
func (s *Service) spread(ctx context.Context, id uuid.UUID) {
	if err := s.flush(ctx, query.Webhook, id); err != nil {
		s.log.WarnContext(ctx, "the catalogue of webhooks will follow later", "webhook_id", id, "error", err)
	}
}

// checkTemplate refuses a template that no request could be rendered with.
func (s *Service) checkTemplate(template string) error {
	if err := s.compile(template); err != nil {
		return rpc.Invalid(rpc.BodyFault("template_syntax", "Value error, "+err.Error(), "template"))
	}
	return nil
}
