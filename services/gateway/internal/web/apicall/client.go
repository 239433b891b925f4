package apicall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

const (
	// ReadTimeout bounds each call that reads.
	ReadTimeout = 2 * time.Second
	// LongReadTimeout bounds each call that reads for a page whose reader waits for it.
	LongReadTimeout = 30 * time.Second
	// WriteTimeout bounds each call of an action.
	WriteTimeout = 30 * time.Second
)

var (
	// ErrUndeclared reports a call that the page's row of the table does not declare.
	ErrUndeclared = errors.New("call of an rpc that the page does not declare")
	// ErrNotAllowed is the response to a call whose scope the reader does not hold.
	ErrNotAllowed = rpc.Detail(http.StatusForbidden, "Forbidden")
)

// slowError is the error of a call that took longer than the timeout.
type slowError struct{ error }

func (e slowError) Unwrap() error { return e.error }

// API makes calls; transcode.Transcoder implements it.
type API interface {
	Operation(rpc string) *transcode.Operation
	Operations() []*transcode.Operation
	Call(r *http.Request, scope transcode.RequestScope, op *transcode.Operation, in transcode.Input) (proto.Message, error)
	Serve(w http.ResponseWriter, r *http.Request, scope transcode.RequestScope)
}

// Client makes the calls of one request. Call may run concurrently with itself.
type Client struct {
	api      API
	request  *http.Request
	options  Options
	declared map[string]bool

	mu    sync.Mutex
	calls []Request
	slow  bool
}

// Options configure a client.
type Options struct {
	// Scope is the reader and the workspace of the page.
	Scope transcode.RequestScope
	// Timeout bounds each call.
	Timeout time.Duration
	// Allowed reports whether the reader may call an rpc. Calls that it rules out fail with ErrNotAllowed at once.
	Allowed func(rpc string) bool
	// Declared are the rpcs that the client may call.
	Declared []string
	// Cache holds the results that the readers of a workspace share; nil shares none.
	Cache *Cache
}

// NewClient returns a client that makes calls with the authorization of a request.
func NewClient(api API, request *http.Request, o Options) *Client {
	c := &Client{api: api, request: request, options: o, declared: map[string]bool{}}
	for _, rpc := range o.Declared {
		c.declared[rpc] = true
	}
	return c
}

// Call makes the calls concurrently and returns the first error in the order of its arguments. A page that can do without
// a result ignores the error and checks the one of the call.
func (c *Client) Call(calls ...Call) error {
	var group sync.WaitGroup
	for _, call := range calls {
		group.Go(func() { call.complete(c.call(call)) })
	}
	group.Wait()
	for _, call := range calls {
		if err := call.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) call(call Call) (proto.Message, error) {
	op := c.api.Operation(call.method())
	if op == nil || !c.declared[call.method()] {
		return nil, fmt.Errorf("%w: %s", ErrUndeclared, call.method())
	}
	if !c.options.Allowed(call.method()) {
		return nil, ErrNotAllowed
	}
	in := call.input()
	to := transcode.Input{Path: in.Path, Query: in.Query}
	if in.Body != nil {
		var err error
		if to.Body, err = encode(in.Body); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	c.calls = append(c.calls, Request{
		Method: op.Method, Path: op.URL(to), Body: string(to.Body), Global: op.Realm != orchv1.Realm_REALM_UNSPECIFIED,
	})
	c.mu.Unlock()
	response, err := c.sendOrShare(call, op, to)
	if _, ok := errors.AsType[slowError](err); ok {
		c.mu.Lock()
		c.slow = true
		c.mu.Unlock()
	}
	return response, err
}

// sendOrShare makes a call, or shares the result of another reader who waits as long.
func (c *Client) sendOrShare(call Call, op *transcode.Operation, in transcode.Input) (proto.Message, error) {
	shared, least := call.sharing()
	if !shared || c.options.Cache == nil {
		return c.send(c.request.Context(), op, in)
	}
	info := c.options.Scope.Info
	key := strings.Join([]string{info.Account.String(), info.Workspace.String(), c.options.Timeout.String(), least.String(), call.method(), op.URL(in), string(in.Body)}, " ")
	return c.options.Cache.get(c.request.Context(), key, least, func(ctx context.Context) (proto.Message, error) { return c.send(ctx, op, in) })
}

// send makes a call within the timeout.
func (c *Client) send(ctx context.Context, op *transcode.Operation, in transcode.Input) (proto.Message, error) {
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	start := time.Now()
	response, err := c.api.Call(c.request.WithContext(bounded), c.options.Scope, op, in)
	// The store gives up a little before the deadline, with an error of its own.
	if err != nil && time.Since(start) > c.options.Timeout-c.options.Timeout/20 && ctx.Err() == nil {
		return nil, slowError{rpc.Detail(http.StatusServiceUnavailable, fmt.Sprintf("%s %s took longer than %s.", op.Method, op.Template, c.options.Timeout))}
	}
	return response, err
}

// encode keeps <, > and & readable, because people copy the body.
func encode(body any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encode body: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// Slow reports whether a call took longer than its timeout.
func (c *Client) Slow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow
}

// Calls returns the calls made so far, without duplicates, by path.
func (c *Client) Calls() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := slices.Clone(c.calls)
	slices.SortFunc(calls, Request.compare)
	return slices.Compact(calls)
}
