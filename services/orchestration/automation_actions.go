package orchestration

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// evaluation wires what evaluates automations, and what does what they say. Actions call the services of this process as
// a client would, so the services must be there.
func (o *Orchestration) evaluation(cfg Config, deps Deps) error {
	local := rpc.NewLocal(o.ownInterceptors()...)
	o.Register(local)
	metrics := engine.NewMetrics()
	if deps.Registry != nil {
		deps.Registry.MustRegister(metrics)
	}
	mailer, err := action.ParseMailer(cfg.Automations.SMTPURL, cfg.Automations.SMTPFrom)
	if err != nil {
		return fmt.Errorf("configure the orchestration service: ORCH_SMTP_URL: %w", err)
	}
	o.actions = action.New(action.Deps{
		Store: o.store, Broker: deps.Broker, Vocabulary: cfg.Vocabulary, Caller: local, Account: o.accountOf, Deliveries: o.destinations,
		Mail: mailer, Recipients: o.recipients(cfg), UIURL: cfg.Automations.UIURL, Random: deps.Random, Tracer: deps.Tracer, Log: o.log,
		Count: func(kind, outcome string) { metrics.Actions.WithLabelValues(kind, outcome).Inc() },
		DeadLetter: func(ctx context.Context, automation uuid.UUID, e store.Effect, attempts int, reason error) error {
			return o.relay.DeadLetter(ctx, query.Automation, automation, e, attempts, reason)
		},
	})
	o.evaluator = engine.New(engine.Deps{
		Store: o.store, Broker: deps.Broker, Vocabulary: cfg.Vocabulary, Tracer: deps.Tracer, Log: o.log, Wake: o.actions.Wake,
		Account: o.accountOf, Annotate: o.eventTypes.Annotate, Subscriptions: o.destinations.NewMatcher(), Metrics: metrics, Bounds: engine.Bounds{
			FiringsPerMinute: cfg.Automations.FiringsPerMinute, AccountFiringsPerMinute: cfg.Automations.AccountFiringsPerMinute,
			KeysPerAutomation: cfg.Automations.KeysPerAutomation,
		},
	})
	return nil
}

// recipients bounds to whom automations send mail. Without keys everybody acts for the operator.
func (o *Orchestration) recipients(cfg Config) action.Recipients {
	r := action.Recipients{Domains: cfg.Automations.SMTPDomains, PerHour: cfg.Automations.SMTPPerHour}
	if o.keys || len(cfg.Automations.SMTPDomains) > 0 {
		r.Member = o.hosted.registry.IsMember
	}
	return r
}

// accountOf returns the account of a workspace.
func (o *Orchestration) accountOf(ctx context.Context, ws uuid.UUID) (uuid.UUID, error) {
	found, err := o.hosted.registry.Workspaces.FindAcross(ctx, store.Query{Filter: bson.D{{Key: "_id", Value: store.Binary(ws)}}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: 1})
	if err != nil {
		return uuid.Nil, err
	}
	if len(found) == 0 {
		return uuid.Nil, fmt.Errorf("read the workspace %s: %w", ws, store.ErrNotFound)
	}
	account, err := uuid.Parse(found[0].Message.GetAccountId())
	if err != nil {
		return uuid.Nil, fmt.Errorf("read the account of a workspace: %w", err)
	}
	return account, nil
}

// destinationAttempts counts the attempts of deliveries by their result.
func destinationAttempts(registry prometheus.Registerer) func(result string) {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orch_destination_attempts_total", Help: "Attempts of deliveries to destinations, by result: delivered, or the reason of the failure.",
	}, []string{"result"})
	registry.MustRegister(attempts)
	return func(result string) { attempts.WithLabelValues(result).Inc() }
}
