package ask

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
	// PatientTimeout bounds each call that reads for a page whose reader waits for it.
	PatientTimeout = 30 * time.Second
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
	Call(r *http.Request, op *transcode.Operation, in transcode.Input) (proto.Message, error)
	http.Handler
}

// Asker makes the calls of one request. Ask may run concurrently with itself.
type Asker struct {
	api      API
	request  *http.Request
	options  Options
	declared map[string]bool

	mu    sync.Mutex
	calls []Call
	slow  bool
}

// Options configure an asker.
type Options struct {
	// Timeout bounds each call.
	Timeout time.Duration
	// Allowed reports whether the reader may call an rpc. Calls that it rules out fail with ErrNotAllowed at once.
	Allowed func(rpc string) bool
	// Declared are the rpcs that the asker may call.
	Declared []string
	// Answers are shared among the readers of Workspace; nil shares none.
	Answers   *Answers
	Workspace string
}

// NewAsker returns an asker that makes calls with the authorization of a request.
func NewAsker(api API, request *http.Request, o Options) *Asker {
	a := &Asker{api: api, request: request, options: o, declared: map[string]bool{}}
	for _, rpc := range o.Declared {
		a.declared[rpc] = true
	}
	return a
}

// Ask makes the calls concurrently and returns the first error in the order of the questions. A page that can do without
// an answer ignores the error and checks the question's own.
func (a *Asker) Ask(questions ...Question) error {
	var group sync.WaitGroup
	for _, q := range questions {
		group.Go(func() { q.settle(a.call(q)) })
	}
	group.Wait()
	for _, q := range questions {
		if err := q.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Asker) call(q Question) (proto.Message, error) {
	op := a.api.Operation(q.method())
	if op == nil || !a.declared[q.method()] {
		return nil, fmt.Errorf("%w: %s", ErrUndeclared, q.method())
	}
	if !a.options.Allowed(q.method()) {
		return nil, ErrNotAllowed
	}
	in := q.input()
	to := transcode.Input{Path: in.Path, Query: in.Query}
	if in.Body != nil {
		var err error
		if to.Body, err = encode(in.Body); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	a.calls = append(a.calls, Call{
		Method: op.Method, Path: op.URL(to), Body: string(to.Body), Global: op.Realm != orchv1.Realm_REALM_UNSPECIFIED,
	})
	a.mu.Unlock()
	response, err := a.sendOrShare(q, op, to)
	if _, ok := errors.AsType[slowError](err); ok {
		a.mu.Lock()
		a.slow = true
		a.mu.Unlock()
	}
	return response, err
}

// sendOrShare makes a call, or shares the answer of another reader who waits as long.
func (a *Asker) sendOrShare(q Question, op *transcode.Operation, in transcode.Input) (proto.Message, error) {
	if !q.mayShare() || a.options.Answers == nil {
		return a.send(a.request.Context(), op, in)
	}
	key := strings.Join([]string{a.options.Workspace, a.options.Timeout.String(), q.method(), op.URL(in), string(in.Body)}, " ")
	return a.options.Answers.get(a.request.Context(), key, func(ctx context.Context) (proto.Message, error) { return a.send(ctx, op, in) })
}

// send makes a call within the timeout.
func (a *Asker) send(ctx context.Context, op *transcode.Operation, in transcode.Input) (proto.Message, error) {
	bounded, cancel := context.WithTimeout(ctx, a.options.Timeout)
	defer cancel()
	start := time.Now()
	response, err := a.api.Call(a.request.WithContext(bounded), op, in)
	// The store gives up a little before the deadline, with an error of its own.
	if err != nil && time.Since(start) > a.options.Timeout-a.options.Timeout/20 && ctx.Err() == nil {
		return nil, slowError{rpc.Detail(http.StatusServiceUnavailable, fmt.Sprintf("%s %s took longer than %s.", op.Method, op.Template, a.options.Timeout))}
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
func (a *Asker) Slow() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slow
}

// Calls returns the calls made so far, without duplicates, by path.
func (a *Asker) Calls() []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := slices.Clone(a.calls)
	slices.SortFunc(calls, Call.compare)
	return slices.Compact(calls)
}
