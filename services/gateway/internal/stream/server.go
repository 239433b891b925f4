package stream

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
)

// The paths below the API prefix.
const (
	pathEventsIn  = "/events/in"
	pathEventsOut = "/events/out"
	pathLogsOut   = "/logs/out"
	pathTasks     = "/task_runs/subscriptions/scheduled"
	pathWorkers   = "/work_pools/{name}/workers/connect"

	pathDeliveriesOut = "/deliveries/out"
)

// readmitEvery bounds how long a socket outlives the permission of its client. A check reads memory only.
const readmitEvery = 3 * time.Second

// Options are the dependencies of a Server.
type Options struct {
	// Caller serves the domain's rpcs.
	Caller rpc.Caller
	// Broker is the process's connection; the caller closes it.
	Broker *broker.Conn
	// Vocabulary is the server's vocabulary.
	Vocabulary vocabulary.Vocabulary
	// Refused records clients whose events have the names of another vocabulary; nil records them for nobody.
	Refused *refusals.Log
	// Events bounds the events of accounts; nil bounds none.
	Events *quota.EventLimiter
	// Max bounds the open sockets, and MaxOfAccount those of one account (0: no such bound). The server refuses further ones with 503.
	Max, MaxOfAccount int
	// Readmit is the interval between permission checks of an open socket. The default is 3 s.
	Readmit time.Duration
	// Admission bounds the messages that are read and decoded at once; nil has no bound.
	Admission *admission.Controller
	Log       *slog.Logger
}

// Admit authenticates a token and checks the scope that a socket needs. The token is empty if the client sent none;
// legacy sockets authenticate by their request's header. The error is the response.
type Admit func(token string, legacy bool, scope string) (request.Info, error)

// all checks every scope that a route needs.
func (a Admit) all(token string, legacy bool, scopes []string) (info request.Info, err error) {
	for _, scope := range scopes {
		if info, err = a(token, legacy, scope); err != nil {
			return info, err
		}
	}
	return info, nil
}

// Server serves websockets. Close it.
type Server struct {
	opts      Options
	routes    map[string]route
	ingestion *publishing
	events    *feed[*orchv1.ReceivedEvent]
	logs      *feed[*orchv1.Log]
	offers    *feed[string]    // Wakes task workers by task key.
	pools     *feed[uuid.UUID] // Changed work pools.
	runs      *feed[string]    // Names of work pools with runs that wait for a worker.
	cleanups  *feed[uuid.UUID] // Work pools that may have a free clean-up job.
	// deliveries are webhooks whose delivery log has grown.
	deliveries *feed[uuid.UUID]

	ctx    context.Context // Ends with Close; the lifetime of the feeds.
	cancel context.CancelFunc

	counts *socketCounts

	mu      sync.Mutex
	sockets map[*socket]struct{}
	closing bool
	open    sync.WaitGroup // Counts the open sockets.
}

// route serves an admitted socket of one path until the socket ends, and returns how it ended.
type route struct {
	scopes []string // All of which the client needs.
	// calls are the rpcs that the socket calls on behalf of its client.
	calls []string
	limit int64 // Maximum message size in bytes after the handshake.
	serve func(*Server, context.Context, *socket) closeReason
}

// New returns a server.
func New(opts Options) *Server {
	if opts.Readmit <= 0 {
		opts.Readmit = readmitEvery
	}
	if opts.Refused == nil {
		opts.Refused = refusals.New(refusals.Options{Log: opts.Log})
	}
	s := &Server{opts: opts, counts: newSocketCounts(opts.Max, opts.MaxOfAccount), sockets: map[*socket]struct{}{}, ingestion: newPublishing(opts.Broker.Publisher())}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.events = newFeed[*orchv1.ReceivedEvent](s.ctx, s.feedEvents)
	s.logs = newFeed[*orchv1.Log](s.ctx, s.feedLogs)
	s.offers = newFeed[string](s.ctx, s.feedOffers)
	s.pools = newFeed[uuid.UUID](s.ctx, s.feedPools)
	s.runs = newFeed[string](s.ctx, s.feedRuns)
	s.cleanups = newFeed[uuid.UUID](s.ctx, s.feedCleanups)
	s.deliveries = newFeed[uuid.UUID](s.ctx, s.feedDeliveries)
	s.routes = routes()
	return s
}

// routes returns the table of all sockets with what their clients may do.
func routes() map[string]route {
	return map[string]route{
		pathEventsIn: {scopes: []string{"manage_events"}, limit: maxEvent, serve: (*Server).eventsIn},
		pathEventsOut: {
			scopes: []string{"see_events"}, limit: maxFilter, serve: (*Server).eventsOut,
			calls: []string{orchv1.EventService_ScanEvents_FullMethodName},
		},
		pathDeliveriesOut: {
			scopes: []string{"see_webhooks"}, limit: maxListen, serve: (*Server).deliveriesOut,
			calls: []string{
				orchv1.WebhookService_ReadWebhook_FullMethodName, orchv1.WebhookService_ListWebhooks_FullMethodName,
				orchv1.WebhookService_ReadDeliveries_FullMethodName,
			},
		},
		pathLogsOut: {scopes: []string{"see_logs"}, limit: maxFilter, serve: (*Server).logsOut},
		pathTasks: {
			scopes: []string{"manage_task_runs"}, limit: maxSubscription, serve: (*Server).tasksOut,
			calls: []string{
				orchv1.TaskWorkerService_ClaimTaskRun_FullMethodName, orchv1.TaskWorkerService_SettleTaskRun_FullMethodName,
				orchv1.TaskWorkerService_LeaveTaskWorker_FullMethodName,
			},
		},
		pathWorkers: {
			scopes: []string{"write_workers", "see_work_pools"}, limit: maxWorkerFrame, serve: (*Server).workerConnect,
			calls: []string{
				orchv1.WorkPoolService_ConnectWorker_FullMethodName, orchv1.WorkPoolService_WorkerHeartbeat_FullMethodName,
				orchv1.WorkPoolService_ReadWorkPool_FullMethodName, orchv1.WorkPoolService_GetScheduledFlowRuns_FullMethodName,
				orchv1.CleanupJobService_ReserveCleanupJob_FullMethodName, orchv1.CleanupJobService_SettleCleanupJob_FullMethodName,
			},
		},
	}
}

// Upgrade reports whether a request asks for a websocket.
func Upgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Route returns the route of an API path, with or without a trailing slash; false if it is not a websocket route.
func (s *Server) Route(path string) (template string, ok bool) {
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if _, isPool := poolOfPath(path); isPool {
		return pathWorkers, true
	}
	_, ok = s.routes[path]
	return path, ok && path != pathWorkers
}

// Writes reports whether the sockets of a route write.
func (s *Server) Writes(template string) bool { return s.routes[template].writes() }

func (r route) writes() bool {
	return slices.ContainsFunc(r.scopes, func(scope string) bool { return !access.ReadOnly(scope) })
}

// Serve upgrades a request and returns when the socket has ended.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, template string, client Client, admit Admit) error {
	return s.bounded(client, func(a *admitted) error {
		return s.accept(w, r, template, s.routes[template], len(vocabulary.OfferedSubprotocols(r.Header)) == 0, a, admit)
	})
}

// Scopes returns the scopes that the client of a route needs.
func (s *Server) Scopes(template string) []string { return s.routes[template].scopes }

// bounded opens a socket unless as many are open as may be.
func (s *Server) bounded(client Client, open func(*admitted) error) error {
	a, err := s.counts.admit(client)
	if err != nil {
		return err
	}
	defer a.end()
	return open(a)
}

// join registers a socket for Close; false when the server is already closing.
func (s *Server) join(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.sockets[k] = struct{}{}
	s.open.Add(1)
	return true
}

// ending reports whether Close was called.
func (s *Server) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Server) leave(k *socket) {
	s.mu.Lock()
	delete(s.sockets, k)
	s.mu.Unlock()
	s.open.Done()
}

// Close closes all sockets with 1012, waits until their events are durable, and ends the feeds. It refuses new sockets.
// It returns when the last socket has ended, or ctx.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for k := range s.sockets {
		go k.end(shuttingDown)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.open.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		s.mu.Lock()
		for k := range s.sockets {
			_ = k.conn.CloseNow() // The client used up its grace period.
		}
		s.mu.Unlock()
		<-ended
	}
	s.cancel()
	s.events.wait()
	s.logs.wait()
	s.offers.wait()
	s.pools.wait()
	s.runs.wait()
	s.cleanups.wait()
	s.deliveries.wait()
	return err
}
