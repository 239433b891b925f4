// Package destinations delivers events to other systems, and stores each delivery until it has succeeded or has failed for good.
//
//	stream ─► Matcher ─► delivery (pending) ─► Sender: claim of the destination ─► filter, template, signature ─► POST
//	                          ▲                                                                                   │
//	                          ├── next attempt: backoff with jitter, Retry-After ◄────────────────────────────────┤
//	                          └── resend                                       delivered, failed ◄────────────────┘
//
// Calls and notifications of automations are deliveries too: package action stores them, rendered, for the destination of their block. The
// request is made of the block when it is sent, so secrets stay in the block, and a corrected block serves deliveries that wait.
//
// The Matcher runs under the lease of the evaluation of automations, in the order of the stream, and its deliveries are stored before the
// events are acknowledged. The id of a delivery follows from destination and event, so an event that is read again is stored once.
//
// One replica at a time sends the deliveries of a destination. Its claim is a field of the destination: the time at which the destination
// is due moves behind the end of the claim. So order, rate and circuit breaker need no coordination between replicas. A replica that dies
// leaves the destination to another one after leader.Duration. Its last requests may then be sent again, with the same ids.
package destinations

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Deps are the dependencies of the service.
type Deps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	// Secrets encrypts the values of headers and the secrets of signatures.
	Secrets secrets.Keyring
	Flush   outbox.Flusher
	Tenancy Tenancy
	// Quotas refuse the deliveries of subscriptions; nil refuses none.
	Quotas *quotas.Service
	// Account returns the account of a workspace.
	Account func(ctx context.Context, ws uuid.UUID) (uuid.UUID, error)
	// Dial says which addresses deliveries may connect to.
	Dial safedial.Policy
	// Proxies are the forward proxies that destinations may name.
	Proxies egress.Proxies
	// Request returns the request of a call or a notification. Its error matches action.ErrBlock if the block has to change first.
	Request func(ctx context.Context, ws uuid.UUID, d *orchv1.DestinationDelivery) (*egress.Message, error)
	// Tracer continues the traces of events and actions; nil is off.
	Tracer *tracing.Tracer
	// UIURL is the address of the dashboard, empty if it is not known.
	UIURL string
	// Retention is how long a delivery is kept after its end; 0 means a week.
	Retention time.Duration
	// DeadLetter writes the dead letters of deliveries that cannot be stored.
	DeadLetter func(ctx context.Context, destination uuid.UUID, e store.Effect, attempts int, reason error) error
	// Attempted counts an attempt by its result: delivered, or the reason of its failure. Nil counts nothing.
	Attempted func(result string)
	// Random gives numbers in [0, 1), which spread retries.
	Random func() float64
	Log    *slog.Logger
}

// Tenancy knows what callers may do, and records what they did.
type Tenancy interface {
	WorkspaceScopes(ctx context.Context, info request.Info, ws uuid.UUID) (access.Set, error)
	Audit(info request.Info, entry tenancy.AuditEntry) (store.Effect, error)
}

// Service serves destinations.
type Service struct {
	orchv1.UnimplementedDestinationServiceServer
	Deps
	destinations *store.Collection[*orchv1.Destination]
	deliveries   *store.Collection[*orchv1.DestinationDelivery]
	source       pagination.Source[*orchv1.Destination]
	logged       pagination.Source[*orchv1.DestinationDelivery]
	lifecycle    crud.Lifecycle[*orchv1.Destination]
	templates    *jinja.Engine
	client       *egress.Client
	woken        chan struct{}
}

// New returns the service.
func New(d Deps) *Service {
	if d.Retention == 0 {
		d.Retention = 7 * 24 * time.Hour
	}
	if d.Attempted == nil {
		d.Attempted = func(string) {}
	}
	destinations := store.NewCollection(d.Store, query.Destination, &orchv1.Destination{})
	deliveries := store.NewCollection(d.Store, query.DestinationDelivery, &orchv1.DestinationDelivery{})
	return &Service{
		Deps:         d,
		destinations: destinations,
		deliveries:   deliveries,
		source:       pagination.NewSource(destinations, orchv1.DestinationSort_DESTINATION_SORT_NAME_ASC),
		logged:       pagination.NewSource(deliveries, orchv1.DestinationDeliverySort_DESTINATION_DELIVERY_SORT_QUEUED_DESC),
		lifecycle: crud.Lifecycle[*orchv1.Destination]{
			Store: d.Store, Vocabulary: d.Vocabulary, Kind: kind, Name: (*orchv1.Destination).GetName,
			Payload: []protoreflect.Name{"name", "enabled"},
		},
		templates: action.NewEngine(d.UIURL, d.Vocabulary),
		client:    egress.NewClient(d.Dial, d.Proxies, "orch-destinations", egress.Timeout),
		woken:     make(chan struct{}, 1),
	}
}

// kind is the kind of destinations in the names of events and resources.
const kind = "destination"

const (
	notFound         crud.NotFound = "Destination not found"
	deliveryNotFound crud.NotFound = "Delivery not found"
)

// messageID is the webhook-id of all attempts of a delivery.
func messageID(delivery string) string { return "msg_" + delivery }

// wake makes the sender of this process look for due destinations at once.
func (s *Service) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// edit changes the internal fields of a destination. Readers do not see that it changed.
func (s *Service) edit(ctx context.Context, ws, id uuid.UUID, change func(next *orchv1.Destination) ([]store.Effect, error)) (*orchv1.Destination, error) {
	return s.destinations.Mutate(ctx, ws, id, quietly(change))
}
