// Package webhooks stores webhooks: addresses that turn any system's HTTP request into an event.
//
// The hooks service serves requests without remote calls, from a definition bucket that this package keeps equal to the
// store. A change is first written to the store. It reaches the bucket as an effect, before the response if the broker
// is available.
//
//	create, update, rotate, delete ──► store (with the effect) ──► definition bucket[key of the slug] ──► every hooks replica
//
// The delivery log takes the opposite direction, for reading and for replays:
//
//	hooks ──► journal ──► Recorder ──► store, the newest of each webhook ──► list, read, replay ──► event
//
// Secrets of signatures are encrypted in the store and in the definition bucket, and no response contains them.
package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
	"github.com/orch-project/orch/services/orchestration/internal/webhooks/health"
)

// Service serves webhooks.
type Service struct {
	orchv1.UnimplementedWebhookServiceServer
	webhooks    *store.Collection[*orchv1.Webhook]
	watches     *store.Collection[*orchv1.WebhookWatch]
	health      health.Policy
	source      pagination.Source[*orchv1.Webhook]
	definitions *broker.KV
	tenancy     *tenancy.Registry
	admission   *admission.Controller
	// flush executes the effects of a webhook's document now.
	flush outbox.Flusher
	log   *slog.Logger

	secrets    secrets.Keyring
	renderer   *render.Engine
	vocab      vocabulary.Vocabulary
	publisher  *broker.Publisher
	journal    *broker.Journal
	recorded   func(ws, webhook uuid.UUID)
	deliveries *store.Collection[*orchv1.WebhookDelivery]
	samples    *store.Collection[*orchv1.WebhookSample]
	logged     pagination.Source[*orchv1.WebhookDelivery]
	maxStored  int64
	retention  time.Duration
	// uniqueNames refuses a name that another webhook of the workspace has.
	uniqueNames bool
	quotas      *quotas.Service
	annotate    func(ctx context.Context, batch []broker.Event) error
}

// Deps are the dependencies of the service.
type Deps struct {
	Store       *store.Store
	Definitions *broker.KV
	Tenancy     *tenancy.Registry
	// Admission bounds renderings; nil has no bound.
	Admission *admission.Controller
	Flush     outbox.Flusher
	Log       *slog.Logger
	// Secrets encrypts the secrets of signatures.
	Secrets secrets.Keyring
	// Vocabulary and IDs are for the events of replays.
	Vocabulary vocabulary.Vocabulary
	IDs        *id.Source
	// Publisher publishes the events of replays; Journal delivers the log entries of the hooks service.
	Publisher *broker.Publisher
	Journal   *broker.Journal
	// Recorded is called when deliveries of a webhook are stored. It must not block.
	Recorded func(ws, webhook uuid.UUID)
	// MaxDeliveries is the maximum number of logged deliveries of a webhook, and Retention their maximum age; 0 means 500 and a
	// week.
	MaxDeliveries int64
	Retention     time.Duration
	// Health has the thresholds of failing webhooks.
	Health health.Policy
	// UniqueNames refuses a name that another webhook of the workspace has.
	UniqueNames bool
	// Quotas admit new webhooks; nil admits all.
	Quotas *quotas.Service
	// Annotate adds to events what the server adds before it stores them. The error is an outage.
	Annotate func(ctx context.Context, batch []broker.Event) error
}

// New returns the service.
func New(d Deps) *Service {
	if d.MaxDeliveries == 0 {
		d.MaxDeliveries = 500
	}
	if d.Retention == 0 {
		d.Retention = 7 * 24 * time.Hour
	}
	webhooks := store.NewCollection(d.Store, query.Webhook, &orchv1.Webhook{})
	deliveries := store.NewCollection(d.Store, query.WebhookDelivery, &orchv1.WebhookDelivery{})
	return &Service{
		webhooks:    webhooks,
		watches:     store.NewCollection(d.Store, query.WebhookWatch, &orchv1.WebhookWatch{}),
		health:      d.Health,
		admission:   d.Admission,
		source:      pagination.NewSource(webhooks, orchv1.WebhookSort_WEBHOOK_SORT_NAME_ASC),
		definitions: d.Definitions,
		tenancy:     d.Tenancy,
		flush:       d.Flush,
		log:         d.Log,

		secrets:    d.Secrets,
		renderer:   render.New(render.Options{Vocabulary: d.Vocabulary, IDs: d.IDs}),
		vocab:      d.Vocabulary,
		publisher:  d.Publisher,
		journal:    d.Journal,
		recorded:   d.Recorded,
		deliveries: deliveries,
		samples:    store.NewCollection(d.Store, query.WebhookSample, &orchv1.WebhookSample{}),
		logged:     pagination.NewSource(deliveries, orchv1.WebhookDeliverySort_WEBHOOK_DELIVERY_SORT_RECEIVED_DESC),
		maxStored:  d.MaxDeliveries,
		retention:  d.Retention,

		uniqueNames: d.UniqueNames,
		quotas:      d.Quotas,
		annotate:    d.Annotate,
	}
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

func translate(err error) error {
	if isNotFound(err) {
		return rpc.Detail(http.StatusNotFound, "Webhook not found")
	}
	return err
}

// locate returns the request metadata of the gateway, and parses an id that the contract has validated.
func locate(ctx context.Context, id string) (request.Info, uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, uuid.Nil, err
	}
	parsed, err := resourceid.Parse(id)
	return info, parsed, err
}

// present sets the computed fields of a webhook.
func present(info request.Info, w *orchv1.Webhook) *orchv1.Webhook {
	w.Workspace = info.Workspace.String()
	w.Url = info.HooksURL + "/" + w.GetSlug()
	w.Deduplication = deduplication(w)
	w.Undefined, w.FilterError = undefinedOf(w), filterErrorOf(w)
	if v := w.GetVerification(); v != nil {
		v.SecretCount = int64(len(w.GetSealedSecrets()))
	}
	return w
}

// slugBytes is the number of random bytes of a slug, which is the webhook's secret.
const slugBytes = 16

func newSlug() string {
	random := make([]byte, slugBytes)
	_, _ = rand.Read(random) // It never fails: the process ends instead.
	return base64.RawURLEncoding.EncodeToString(random)
}

// checkTemplate refuses a template that does not compile.
func (s *Service) checkTemplate(template string) error {
	if err := s.renderer.CheckTemplate(template); err != nil {
		return rpc.Invalid(rpc.BodyError(syntaxError, "Value error, "+err.Error(), "template"))
	}
	return nil
}
