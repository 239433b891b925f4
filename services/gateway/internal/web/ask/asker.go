package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	declared map[string]bool
	allowed  func(rpc string) bool
	timeout  time.Duration

	mu    sync.Mutex
	calls []Call
	slow  bool
}

// NewAsker returns an asker that makes calls of the declared rpcs with the authorization of a request. It does not make
// calls that allowed rules out: they fail with ErrNotAllowed at once.
func NewAsker(api API, request *http.Request, timeout time.Duration, allowed func(rpc string) bool, declared ...string) *Asker {
	a := &Asker{api: api, request: request, timeout: timeout, allowed: allowed, declared: map[string]bool{}}
	for _, rpc := range declared {
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
	if !a.allowed(q.method()) {
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
	ctx, cancel := context.WithTimeout(a.request.Context(), a.timeout)
	defer cancel()
	response, err := a.api.Call(a.request.WithContext(ctx), op, to)
	if err != nil && ctx.Err() != nil && a.request.Context().Err() == nil {
		a.mu.Lock()
		a.slow = true
		a.mu.Unlock()
		return nil, rpc.Detail(http.StatusServiceUnavailable, fmt.Sprintf("%s %s took longer than %s.", op.Method, op.Template, a.timeout))
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
