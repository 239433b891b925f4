// Package quotas refuses creations beyond the quotas of accounts, and measures what accounts store.
//
//	creation ──▶ stored bytes, as last measured ──▶ one creation of a kind and account at a time ──▶ count ──▶ insert
//	                └── 403                                                                           └── 403
//
// A replica counts and inserts before it begins the next creation of that kind, so replicas together exceed a quota by at most one
// document for each further replica. Changes, states of runs and their logs, artifacts, task runs and events are never refused.
package quotas

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/quota"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Service enforces the quotas of accounts.
type Service struct {
	registry *tenancy.Registry
	defaults quota.Settings
	usage    *store.Collection[*orchv1.AccountUsage]
	counted  map[quota.Name]counted
	refusals *prometheus.CounterVec
	log      *slog.Logger

	mu     sync.Mutex
	stored map[uuid.UUID]stored
}

// counted is what a quota counts.
type counted struct {
	// count counts up to a limit; 0 means none.
	count func(ctx context.Context, account uuid.UUID, limit int64) (int64, error)
	// creations are those in progress, by account.
	creations *admission.Semaphore
}

// stored is the use of the quota of bytes, which expires.
type stored struct {
	limit, bytes int64
	until        time.Time
}

func (s stored) usedUp() bool { return s.limit > 0 && s.bytes >= s.limit }

const (
	// storedFor is how long a replica uses what it has read of an account's stored bytes.
	storedFor = time.Second
	// maxStored bounds the accounts that a replica remembers.
	maxStored = 10_000
)

// oneAtATime are the bounds of the creations of one kind in an account.
var oneAtATime = admission.Bounds{PerKey: 1, Queue: 512, Wait: 5 * time.Second}

// Deps are the dependencies of the service.
type Deps struct {
	Registry *tenancy.Registry
	// Defaults are the quotas of accounts without quotas of their own.
	Defaults quota.Settings
	Metrics  prometheus.Registerer
	Log      *slog.Logger
}

// New returns the service.
func New(d Deps) *Service {
	s := &Service{
		registry: d.Registry, defaults: d.Defaults, log: d.Log, counted: map[quota.Name]counted{}, stored: map[uuid.UUID]stored{},
		usage:    store.NewCollection(d.Registry.Store, query.AccountUsage, &orchv1.AccountUsage{}),
		refusals: quota.NewRefusals(d.Metrics),
	}
	for name, collection := range map[quota.Name]query.Collection{
		quota.Webhooks: query.Webhook, quota.Automations: query.Automation, quota.Deployments: query.Deployment, quota.Blocks: query.BlockDocument,
	} {
		s.counted[name] = counted{
			func(ctx context.Context, account uuid.UUID, limit int64) (int64, error) {
				return s.count(ctx, account, collection, limit)
			},
			admission.NewSemaphore(oneAtATime),
		}
	}
	s.counted[quota.APIKeys] = counted{s.countKeys, admission.NewSemaphore(oneAtATime)}
	for name := range s.counted {
		s.refusals.WithLabelValues(string(name)) // At 0 before the first one.
	}
	s.refusals.WithLabelValues(string(quota.StoredBytes))
	return s
}

// Begin admits the creation of a document that a quota counts, or of a key. The caller inserts the document, then calls end. A nil
// service admits everything.
func (s *Service) Begin(ctx context.Context, account uuid.UUID, name quota.Name) (end func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	own, err := s.own(ctx, account)
	if err != nil {
		return nil, err
	}
	if name != quota.APIKeys { // An account that stores too much may still have its keys changed.
		if err := s.checkStored(ctx, account, func(context.Context, uuid.UUID) (*orchv1.AccountQuotas, error) { return own, nil }); err != nil {
			return nil, err
		}
	}
	limit := s.defaults.Of(own, name)
	if limit <= 0 {
		return func() {}, nil
	}
	kind := s.counted[name]
	if end, err = kind.creations.Acquire(ctx, admission.Account(account), 1); err != nil {
		return nil, fmt.Errorf("create one of %s: %w", name, err)
	}
	used, err := kind.count(ctx, account, limit)
	if err == nil && used >= limit {
		s.refuse(ctx, account, name, limit)
		err = quota.Refused(name, limit, "delete some, or ask the operator for more.")
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

func (s *Service) refuse(ctx context.Context, account uuid.UUID, name quota.Name, limit int64) {
	s.refusals.WithLabelValues(string(name)).Inc()
	s.log.InfoContext(ctx, "refused a creation beyond a quota", "account", account, "quota", string(name), "limit", limit)
}

// own returns the quotas that the operator has set for an account, nil for none.
func (s *Service) own(ctx context.Context, account uuid.UUID) (*orchv1.AccountQuotas, error) {
	a, err := s.registry.Accounts.Get(ctx, tenancy.Server, account)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // It was deleted in the meantime.
	}
	return a.GetQuotas(), err
}

// owners returns what owns the documents of an account: its workspaces and the account itself.
func (s *Service) owners(ctx context.Context, account uuid.UUID) ([]uuid.UUID, error) {
	found, err := s.registry.Workspaces.Find(ctx, account, store.Query{Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}})
	if err != nil {
		return nil, err
	}
	owners := []uuid.UUID{account}
	for _, w := range found {
		id, err := uuid.Parse(w.GetId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a workspace: %w", err)
		}
		owners = append(owners, id)
	}
	return owners, nil
}

// count counts the documents of an account up to a limit; 0 means none.
func (s *Service) count(ctx context.Context, account uuid.UUID, collection query.Collection, limit int64) (total int64, err error) {
	owners, err := s.owners(ctx, account)
	if err != nil {
		return 0, err
	}
	for _, owner := range owners {
		n, err := s.registry.Store.Count(ctx, collection, owner, max(0, limit-total))
		if err != nil {
			return 0, err
		}
		if total += n; limit > 0 && total >= limit {
			break
		}
	}
	return total, nil
}
