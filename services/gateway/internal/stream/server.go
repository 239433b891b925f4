package stream

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The paths below the API prefix.
const (
	pathEventsIn  = "/events/in"
	pathEventsOut = "/events/out"
	pathLogsOut   = "/logs/out"
	pathTasks     = "/task_runs/subscriptions/scheduled"
	pathWorkers   = "/work_pools/{name}/workers/connect"
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
	// Max bounds the open sockets; the server refuses further ones with 503.
	Max int
	// Readmit is the interval between permission checks of an open socket. The default is 3 s.
	Readmit time.Duration
	Log     *slog.Logger
}

// Admit authenticates a token and checks the scope that a socket needs. The token is empty if the client sent none;
// legacy sockets authenticate by their request's header. The error is the response.
type Admit func(token string, legacy bool, scope string) (request.Info, error)

// Server serves websockets. Close it.
type Server struct {
	opts      Options
	routes    map[string]route
	ingestion *publishing
	events    *feed[passed]
	logs      *feed[*orchv1.Log]
	offers    *feed[string]    // Wakes task workers by task key.
	pools     *feed[uuid.UUID] // Changed work pools.
	runs      *feed[string]    // Names of work pools with runs that wait for a worker.
	// deliveries are webhooks whose delivery log has grown.
	deliveries *feed[uuid.UUID]

	ctx    context.Context // Ends with Close; the lifetime of the feeds.
	cancel context.CancelFunc

	mu      sync.Mutex
	sockets map[*socket]struct{}
	closing bool
	open    sync.WaitGroup // Counts the open sockets.
	count   atomic.Int64
}

// route serves an admitted socket of one path until the socket ends, and returns how it ended.
type route struct {
	scope string
	limit int64 // Maximum message size in bytes after the handshake.
	serve func(*Server, context.Context, *socket) ending
}

// New returns a server.
func New(opts Options) *Server {
	if opts.Readmit <= 0 {
		opts.Readmit = readmitEvery
	}
	s := &Server{opts: opts, sockets: map[*socket]struct{}{}, ingestion: newPublishing(opts.Broker.Publisher())}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.events = newFeed[passed](s.ctx, s.feedEvents)
	s.logs = newFeed[*orchv1.Log](s.ctx, s.feedLogs)
	s.offers = newFeed[string](s.ctx, s.feedOffers)
	s.pools = newFeed[uuid.UUID](s.ctx, s.feedPools)
	s.runs = newFeed[string](s.ctx, s.feedRuns)
	s.deliveries = newFeed[uuid.UUID](s.ctx, s.feedDeliveries)
	s.routes = map[string]route{
		pathEventsIn:  {scope: "manage_events", limit: maxEvent, serve: (*Server).eventsIn},
		pathEventsOut: {scope: "see_events", limit: maxFilter, serve: (*Server).eventsOut},
		pathLogsOut:   {scope: "see_logs", limit: maxFilter, serve: (*Server).logsOut},
		pathTasks:     {scope: "manage_task_runs", limit: maxSubscription, serve: (*Server).tasksOut},
		pathWorkers:   {scope: "write_workers", limit: maxWorkerFrame, serve: (*Server).workerConnect},
	}
	return s
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

// Serve upgrades a request and returns when the socket has ended.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, template string, admit Admit) error {
	return s.bounded(func() error { return s.accept(w, r, template, s.routes[template], !offersSubprotocol(r), admit) })
}

// bounded opens a socket unless the server has as many as it may.
func (s *Server) bounded(open func() error) error {
	if s.count.Add(1) > int64(s.opts.Max) {
		s.count.Add(-1)
		return rpc.Error(&orchv1.HttpError{
			Status:  http.StatusServiceUnavailable,
			Form:    &orchv1.HttpError_Detail{Detail: "This server has as many open websockets as it takes."},
			Headers: map[string]string{"Retry-After": "5"},
		})
	}
	defer s.count.Add(-1)
	return open()
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
	s.deliveries.wait()
	return err
}
