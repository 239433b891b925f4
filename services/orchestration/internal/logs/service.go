// Package logs stores the logs of runs and reads them back.
//
//	POST /logs/ ──► store, in one write (durable: the client's 201) ──► filter, download
//	                  │
//	                  └──► live feed, for subscribers
//
// The runs of logs need not exist. Logs of a deleted flow run are deleted after it, the others when their retention
// ends.
package logs

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/storedjson"
)

// Service serves logs.
type Service struct {
	orchv1.UnimplementedLogServiceServer
	orchv1.UnimplementedFlowRunLogServiceServer
	logs      *store.Collection[*orchv1.Log]
	flowRuns  *store.Collection[*orchv1.FlowRun]
	source    pagination.Source[*orchv1.Log]
	encoder   storedjson.Encoder[*orchv1.Log]
	retention time.Duration
	show      func(ws uuid.UUID, message []byte) error
	log       *slog.Logger
}

// Deps are the dependencies of the service.
type Deps struct {
	Store *store.Store
	// Retention is how long logs are stored; 0 stores them as long as their flow run.
	Retention time.Duration
	// Show publishes a message to the live feed of logs.
	Show func(ws uuid.UUID, message []byte) error
	Log  *slog.Logger
}

// New returns the service.
func New(deps Deps) *Service {
	logs := store.NewCollection(deps.Store, query.Log, &orchv1.Log{})
	return &Service{
		logs:      logs,
		flowRuns:  store.NewCollection(deps.Store, query.FlowRun, &orchv1.FlowRun{}),
		source:    pagination.NewSource(logs, orchv1.LogSort_LOG_SORT_TIMESTAMP_ASC),
		encoder:   storedjson.New(logs, nil, nil),
		retention: deps.Retention,
		show:      deps.Show,
		log:       deps.Log,
	}
}

// Handlers returns the effect handlers of this package.
func (s *Service) Handlers() []outbox.Handler {
	return []outbox.Handler{{Kind: kindDeleteOfFlowRun, Run: s.DeleteOfFlowRuns}}
}
