package transcode

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Input is the input of an operation as HTTP has it.
type Input struct {
	// Path holds the path variables, unescaped.
	Path map[string]string
	// Query holds the query parameters.
	Query url.Values
	// Body is a JSON body; nil sends none.
	Body []byte
}

// URL returns the path and query of a call, without the API prefix.
func (op *Operation) URL(in Input) string {
	var b strings.Builder
	for _, s := range op.segments {
		b.WriteByte('/')
		if s.field == nil {
			b.WriteString(s.literal)
		} else {
			b.WriteString(url.PathEscape(in.Path[string(s.field.Name())]))
		}
	}
	if len(in.Query) > 0 {
		b.WriteString("?" + in.Query.Encode())
	}
	return b.String()
}

// Operation returns the operation of an rpc, nil without one. Of several bindings it is the first.
func (t *Transcoder) Operation(rpc string) *Operation { return t.byRPC[rpc] }

// Call makes a call on behalf of a request for a page. It decodes the input and authorizes the caller as Serve does,
// so a page can do nothing that its reader cannot do over REST. Its errors are responses.
func (t *Transcoder) Call(r *http.Request, scope RequestScope, op *Operation, in Input) (proto.Message, error) {
	vars := make(map[string]string, len(in.Path))
	for name, value := range in.Path {
		vars[name] = url.PathEscape(value)
	}
	ctx, err := t.opts.Authorizer.Admit(r, scope, op, vars)
	if err != nil {
		return nil, err
	}
	request := op.input.New()
	fieldErrors, err := op.decodeParams(request, in.Query, http.Header{}, vars)
	if err == nil && op.body != nil {
		var more []*orchv1.FieldError
		more, err = op.decodeBody(request, "application/json", in.Body)
		fieldErrors = append(fieldErrors, more...)
	}
	if err != nil {
		return nil, fmt.Errorf("decode input of %s: %w", op.RPC, err)
	}
	if len(fieldErrors) > 0 {
		return nil, rpc.Invalid(op.redact.fieldErrors(fieldErrors)...)
	}
	if err := t.permit(r, scope, match{op: op, vars: vars}, request); err != nil {
		return nil, err
	}
	response, _, err := t.opts.Caller(op.RPC).Call(ctx, op.RPC, request.Interface())
	return response, err
}
