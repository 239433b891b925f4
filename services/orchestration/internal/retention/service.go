package retention

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Kind counts and deletes the documents of one kind. Both functions must be safe for concurrent use by several replicas.
type Kind struct {
	// Count counts expired documents, up to a limit.
	Count func(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error)
	// Delete deletes expired documents, oldest first, at most limit.
	Delete func(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error)
}

// Deps are the dependencies of the service.
type Deps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	// Flush executes the effects of a write before its call returns.
	Flush outbox.Flusher
	Kinds map[orchv1.RetentionKind]Kind
	// Rate is the maximum number of documents that are deleted per second, without dependents; 0 means no limit.
	Rate int
	// Registry may be nil.
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Service serves the retention policies and enforces them.
type Service struct {
	orchv1.UnimplementedRetentionServiceServer
	policies  *store.Collection[*orchv1.RetentionPolicy]
	lifecycle crud.Lifecycle[*orchv1.RetentionPolicy]
	flush     outbox.Flusher
	kinds     map[orchv1.RetentionKind]Kind
	rate      int
	metrics   metrics
	log       *slog.Logger

	mu    sync.Mutex
	marks map[selectionKey]mark
}

// New returns the service.
func New(d Deps) *Service {
	return &Service{
		policies: store.NewCollection(d.Store, query.RetentionPolicy, &orchv1.RetentionPolicy{}),
		lifecycle: crud.Lifecycle[*orchv1.RetentionPolicy]{
			Store: d.Store, Vocabulary: d.Vocabulary, Kind: "retention-policy",
			Name:    func(*orchv1.RetentionPolicy) string { return "" },
			Payload: []protoreflect.Name{"rules"},
		},
		flush:   d.Flush,
		kinds:   d.Kinds,
		rate:    d.Rate,
		metrics: newMetrics(d.Registry),
		log:     d.Log,
		marks:   map[selectionKey]mark{},
	}
}

// now is the store's clock.
func (s *Service) now() time.Time { return s.policies.Store().Now() }

// policyID derives the id of a workspace's policy, so concurrent writers cannot create two.
func policyID(ws uuid.UUID) uuid.UUID { return uuid.NewSHA1(ws, []byte("retention_policy")) }
