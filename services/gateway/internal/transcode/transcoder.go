package transcode

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
)

// MaxBody is the maximum size of a request body in bytes, after decompression.
const MaxBody = 5 << 20

// Unmatched is the route label of requests for unknown paths.
const Unmatched = "unmatched"

// Options are the dependencies of a Transcoder.
type Options struct {
	// Services lists the services to serve. Methods without HTTP bindings are skipped.
	Services []protoreflect.ServiceDescriptor
	// Caller returns the caller that serves an rpc, by its full name.
	Caller func(rpc string) rpc.Caller
	// Authorizer authorizes each call.
	Authorizer Authorizer
	// Admission bounds the bodies that are read and decoded at once; nil has no bound.
	Admission *admission.Controller
	// Large bounds the requests of a workspace with large bodies that are served at once; nil has no bound.
	Large *admission.Semaphore
	// Log receives the server's failures.
	Log *slog.Logger
}

// Transcoder serves paths without prefix, such as "/flows/filter".
type Transcoder struct {
	opts   Options
	ops    []*Operation
	byRPC  map[string]*Operation
	router *router
}

// New reads the descriptors. It returns an error for an invalid binding and for two methods with one route.
func New(opts Options) (*Transcoder, error) {
	t := &Transcoder{opts: opts, byRPC: map[string]*Operation{}}
	for _, sd := range opts.Services {
		ops, err := operations(sd)
		if err != nil {
			return nil, err
		}
		t.ops = append(t.ops, ops...)
		for _, op := range ops {
			if t.byRPC[op.RPC] == nil {
				t.byRPC[op.RPC] = op
			}
		}
	}
	var err error
	if t.router, err = newRouter(t.ops); err != nil {
		return nil, err
	}
	return t, nil
}

// Operations returns the operations that the transcoder serves.
func (t *Transcoder) Operations() []*Operation { return t.ops }

// Find returns the operation of a method and a URL without API prefix, and the path's variables, still escaped; nil
// without one.
func (t *Transcoder) Find(method string, u *url.URL) (*Operation, map[string]string) {
	found := t.router.find(method, u)
	return found.op, found.vars
}

// Serve serves a request whose URL has no API prefix.
func (t *Transcoder) Serve(w http.ResponseWriter, r *http.Request, scope RequestScope) {
	found := t.router.find(r.Method, r.URL)
	route := Unmatched
	if found.op != nil {
		route = found.op.Template
	}
	requestlog.SetRoute(w, route)
	ctx, err := t.opts.Authorizer.Admit(r, scope, found.op, found.vars)
	switch {
	case err != nil:
		writeHTTPError(w, rpc.HTTPError(err), nil)
	case found.op != nil:
		t.serve(ctx, w, r, scope, found)
	case len(found.allow) > 0:
		w.Header().Set("Allow", strings.Join(found.allow, ", "))
		writeHTTPError(w, notAllowed, nil)
	default:
		writeHTTPError(w, notFound, nil)
	}
}

var (
	notFound   = &orchv1.HttpError{Status: http.StatusNotFound, Form: &orchv1.HttpError_Detail{Detail: "Not Found"}}
	notAllowed = &orchv1.HttpError{Status: http.StatusMethodNotAllowed, Form: &orchv1.HttpError_Detail{Detail: "Method Not Allowed"}}
)

// NotFound responds with 404 for an unknown path.
func NotFound(w http.ResponseWriter) { writeHTTPError(w, notFound, nil) }

func (t *Transcoder) serve(ctx context.Context, w http.ResponseWriter, r *http.Request, scope RequestScope, found match) {
	op := found.op
	body := buffers.Get().(*bytes.Buffer)
	defer release(body)
	key := admission.Workspace(request.OutgoingWorkspace(ctx))
	memory := t.opts.Admission.Open(request.OutgoingAccount(ctx), key)
	defer memory.Close()
	if op.body != nil {
		end, err := t.receive(ctx, w, r, key, body, memory)
		if err != nil {
			writeHTTPError(w, rpc.HTTPError(err), nil)
			return
		}
		defer end()
	}
	message := op.input.New()
	fieldErrors, err := op.decodeParams(message, op.query(r), r.Header, found.vars)
	if err == nil && op.body != nil {
		var more []*orchv1.FieldError
		more, err = op.decodeBody(message, r.Header.Get("Content-Type"), body.Bytes())
		fieldErrors = append(fieldErrors, more...)
	}
	if err != nil {
		t.fail(ctx, w, op, body.Bytes(), err)
		return
	}
	if len(fieldErrors) > 0 {
		op.refuse(w, invalid(fieldErrors), body.Bytes())
		return
	}
	memory.ReleaseProcessor() // The call waits for the store.
	if err := t.permit(r, scope, found, message); err != nil {
		writeHTTPError(w, rpc.HTTPError(err), nil)
		return
	}
	answer := answers.Get().(*[]byte)
	defer func() {
		if cap(*answer) <= maxPooled {
			answers.Put(answer)
		}
	}()
	omit := op.omission(r)
	out, response, reply, err := t.call(ctx, op, message.Interface(), omit, (*answer)[:0])
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	if err != nil {
		t.fail(ctx, w, op, body.Bytes(), err)
		return
	}
	linkNext(ctx, w.Header(), r)
	status, declared := op.statusOf(reply.Status)
	if !declared {
		t.opts.Log.WarnContext(ctx, "a handler set a status that its method does not declare", "method", op.RPC, "status", reply.Status)
	}
	contentType := jsonType
	if response != nil {
		out, contentType, err = op.appendAnswer(out, status, response, omit)
	}
	if err != nil {
		t.fail(ctx, w, op, nil, err)
		return
	}
	*answer = out
	switch {
	case bodiless(status):
		w.WriteHeader(status)
	case reply.Next != "":
		t.stream(ctx, w, r, op, message, part{status: status, contentType: contentType, body: out, next: reply.Next})
	default:
		writeBody(w, r, status, contentType, out)
	}
}

// call invokes the method of an operation. A callee that encodes the response appends it to dst, and there is no message. Such handlers
// encode every field, so a call whose response omits some asks for the message.
func (t *Transcoder) call(
	ctx context.Context, op *Operation, message proto.Message, omit restjson.Omission, dst []byte,
) (body []byte, response proto.Message, reply rpc.Reply, err error) {
	caller := t.opts.Caller(op.RPC)
	if encoding, ok := caller.(rpc.JSONCaller); ok && len(omit) == 0 {
		return encoding.CallJSON(ctx, op.RPC, message, dst)
	}
	response, reply, err = caller.Call(ctx, op.RPC, message)
	return dst, response, reply, err
}

// receive reads the body of a request. A large one waits for others of its workspace, and then for a processor. The caller calls end
// after the response. The errors are responses.
func (t *Transcoder) receive(
	ctx context.Context, w http.ResponseWriter, r *http.Request, key admission.Key, body *bytes.Buffer, memory *admission.Reservation,
) (end func(), err error) {
	compressed, err := readBody(w, r, MaxBody, body, memory)
	if err != nil {
		return nil, err
	}
	end = func() {}
	if t.opts.Large != nil && (body.Len() > largeBody || compressed) {
		if end, err = t.opts.Large.Acquire(ctx, key, body.Len()); err != nil {
			return nil, busy()
		}
	}
	size := body.Len()
	if compressed {
		size = MaxBody // Until it is decompressed, any size is possible.
	}
	if size > admission.LargeBody {
		if memory.AcquireProcessor(ctx, size) != nil {
			end()
			return nil, overloaded()
		}
	}
	if err := unpack(body, compressed, MaxBody, memory); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// permit checks the scopes of the guarded fields that a request sets.
func (t *Transcoder) permit(r *http.Request, scope RequestScope, found match, request protoreflect.Message) error {
	for _, field := range found.op.guarded {
		if !field.Set(request) {
			continue
		}
		if err := t.opts.Authorizer.Permit(r, scope, found.op, found.vars, field.Scope); err != nil {
			return err
		}
	}
	return nil
}

var answers = sync.Pool{New: func() any { return new([]byte) }}

// fail responds with an error and logs internal failures.
func (t *Transcoder) fail(ctx context.Context, w http.ResponseWriter, op *Operation, body []byte, err error) {
	e := rpc.HTTPError(err)
	if e.GetStatus() == http.StatusInternalServerError {
		t.opts.Log.ErrorContext(ctx, "failed to serve a call", "method", op.RPC, "request_id", requestlog.RequestID(w), "error", err)
	}
	op.refuse(w, e, body)
}

func invalid(fieldErrors []*orchv1.FieldError) *orchv1.HttpError {
	return &orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_FieldErrors{FieldErrors: &orchv1.FieldErrors{Errors: fieldErrors}},
	}
}

// refuse responds with an error and echoes only the permitted parts of the request.
func (op *Operation) refuse(w http.ResponseWriter, e *orchv1.HttpError, body []byte) {
	if list := e.GetFieldErrors(); list != nil {
		list.Errors = op.redact.fieldErrors(list.GetErrors())
	}
	writeHTTPError(w, e, op.redact.body(body))
}

// Describe formats an operation for people: "GET /flows/{id} (orch.v1.FlowService.ReadFlow)".
func (op *Operation) Describe() string {
	return fmt.Sprintf("%s %s (%s)", op.Method, op.Template, op.RPC)
}
