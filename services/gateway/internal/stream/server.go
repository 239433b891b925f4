package stream

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The paths below the API's prefix.
const (
	pathEventsIn  = "/events/in"
	pathEventsOut = "/events/out"
	pathLogsOut   = "/logs/out"
	pathTasks     = "/task_runs/subscriptions/scheduled"
)

// readmitEvery is how long a socket may outlive what lets its client have it. Asking costs a look into memory.
const readmitEvery = 3 * time.Second

// Options are what a Server needs.
type Options struct {
	// Caller serves the rpcs of the domain.
	Caller rpc.Caller
	// Broker is the process's connection; it stays the caller's to close.
	Broker *broker.Conn
	// Words is the server's vocabulary.
	Vocabulary vocabulary.Vocabulary
	// Max bounds the open sockets; further ones are refused with 503.
	Max int
	// Readmit is how often it is asked again whether a client may have its socket. Default 3 s.
	Readmit time.Duration
	Log     *slog.Logger
}

// Admit tells on whose behalf a socket works whose client sent a token, which is empty when none was sent; scope is
// what the socket needs. Legacy sockets come without a token of their own: then their request's header is what counts.
// The error is the answer.
type Admit func(token string, legacy bool, scope string) (request.Info, error)

// Server serves websockets. Close it.
type Server struct {
	opts   Options
	routes map[string]route
	intake *publishing
	events *feed[passed]
	logs   *feed[*orchv1.Log]
	offers *feed[string] // Of task keys.

	ctx    context.Context // Ends with Close: the life of the feeds.
	cancel context.CancelFunc

	mu      sync.Mutex
	sockets map[*socket]struct{}
	closing bool
	open    sync.WaitGroup // One for each socket.
	count   atomic.Int64
}

// route is what one path does with an admitted socket. It returns when the socket has ended; what it returns is how.
type route struct {
	scope string
	limit int64 // The largest message, in bytes, after the handshake.
	serve func(*Server, context.Context, *socket) ending
}

// New returns a server.
func New(opts Options) *Server {
	if opts.Readmit <= 0 {
		opts.Readmit = readmitEvery
	}
	s := &Server{opts: opts, sockets: map[*socket]struct{}{}, intake: newPublishing(opts.Broker.Publisher())}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.events = newFeed[passed](s.ctx, s.feedEvents)
	s.logs = newFeed[*orchv1.Log](s.ctx, s.feedLogs)
	s.offers = newFeed[string](s.ctx, s.feedOffers)
	s.routes = map[string]route{
		pathEventsIn:  {scope: "manage_events", limit: maxEvent, serve: (*Server).eventsIn},
		pathEventsOut: {scope: "see_events", limit: maxFilter, serve: (*Server).eventsOut},
		pathLogsOut:   {scope: "see_logs", limit: maxFilter, serve: (*Server).logsOut},
		pathTasks:     {scope: "manage_task_runs", limit: maxSubscription, serve: (*Server).tasksOut},
	}
	return s
}

// Upgrade tells whether a request wants to become a websocket.
func Upgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Route is the path of the API that a path means, with or without a slash at its end; false when it is no socket's.
func (s *Server) Route(path string) (template string, ok bool) {
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	_, ok = s.routes[path]
	return path, ok
}

// Serve turns a request for a route into a socket, and returns when the socket has ended.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, template string, admit Admit) error {
	if s.count.Add(1) > int64(s.opts.Max) {
		s.count.Add(-1)
		return rpc.Error(&orchv1.HttpError{
			Status:  http.StatusServiceUnavailable,
			Form:    &orchv1.HttpError_Detail{Detail: "This server has as many open websockets as it takes."},
			Headers: map[string]string{"Retry-After": "5"},
		})
	}
	defer s.count.Add(-1)
	return s.accept(w, r, template, admit)
}

// join takes a socket into the care of Close; false when the server closes already.
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

// Close tells all clients that the server shuts down, lets what they have sent become durable, and ends the feeds. New
// sockets are refused. It returns when the last socket has ended, or ctx.
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
			_ = k.conn.CloseNow() // Nothing is owed to a client that had its time.
		}
		s.mu.Unlock()
		<-ended
	}
	s.cancel()
	s.events.wait()
	s.logs.wait()
	s.offers.wait()
	return err
}
