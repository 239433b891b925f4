package transcode

import (
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// jsonType is the content type of JSON.
const jsonType = "application/json"

// bodiless reports whether a status forbids a body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified || status < http.StatusOK
}

// appendAnswer appends the body of a successful response to dst.
func (op *Operation) appendAnswer(dst []byte, status int, message proto.Message, omit restjson.Omission) (body []byte, contentType string, err error) {
	m := message.ProtoReflect()
	switch name := m.Descriptor().FullName(); {
	case bodiless(status):
		return dst, "", nil
	case name == emptyName:
		return append(dst, "null"...), jsonType, nil
	case op.responseBody != nil && op.responseBody.Message() != nil && op.responseBody.Message().FullName() == httpBodyName && !op.responseBody.IsList():
		body, contentType = appendHTTPBody(dst, m.Get(op.responseBody).Message())
		return body, contentType, nil
	case op.responseBody != nil:
		body, err = omit.AppendField(dst, m, op.responseBody)
	case name == httpBodyName:
		body, contentType = appendHTTPBody(dst, m)
		return body, contentType, nil
	default:
		body, err = omit.Append(dst, message)
	}
	if err != nil {
		return nil, "", fmt.Errorf("encode response of %s: %w", op.RPC, err)
	}
	return body, jsonType, nil
}

func appendHTTPBody(dst []byte, m protoreflect.Message) ([]byte, string) {
	fields := m.Descriptor().Fields()
	contentType := m.Get(fields.ByName("content_type")).String()
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	return append(dst, m.Get(fields.ByName("data")).Bytes()...), contentType
}

// appendError appends the body of an error response to dst. A 422 echoes parts of request.
func appendError(dst []byte, e *orchv1.HttpError, request []byte) []byte {
	switch form := e.GetForm().(type) {
	case *orchv1.HttpError_Detail:
		dst = append(dst, `{"detail":`...)
		return append(jsontoken.AppendString(dst, form.Detail), '}')
	case *orchv1.HttpError_ExceptionMessage:
		dst = append(dst, `{"exception_message":`...)
		return append(jsontoken.AppendString(dst, form.ExceptionMessage), '}')
	case *orchv1.HttpError_Body:
		return append(dst, form.Body...)
	case *orchv1.HttpError_FieldErrors:
		return (&restjson.Errors{List: form.FieldErrors.GetErrors()}).AppendBody(dst, request)
	}
	dst = append(dst, `{"exception_message":`...)
	return append(jsontoken.AppendString(dst, http.StatusText(int(e.GetStatus()))), '}')
}

// WriteError responds with the HTTP form of an error, for requests that fail before an operation is known.
func WriteError(w http.ResponseWriter, e *orchv1.HttpError) {
	writeHTTPError(w, e, nil)
}

func writeHTTPError(w http.ResponseWriter, e *orchv1.HttpError, request []byte) {
	status := int(e.GetStatus())
	if status < 100 || status > 999 {
		status = http.StatusInternalServerError
	}
	header := w.Header()
	for name, value := range e.GetHeaders() {
		header.Set(name, value)
	}
	if bodiless(status) {
		w.WriteHeader(status)
		return
	}
	body := appendError(nil, e, request)
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, sent as JSON: a browser does not run it. An error means that the client has disconnected.
}
