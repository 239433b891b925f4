package restjson

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// MaxErrors is the maximum number of field errors of one body.
	MaxErrors = 100
	// maxEcho is the length, in bytes, of the longest value that a field error contains.
	maxEcho = 1024
	// maxStep is the length, in bytes, of the longest key in a location: each error below a key contains the key.
	maxStep = 256
	// maxBodyEcho is the length, in bytes, of the longest request body that an error response contains.
	maxBodyEcho = 64 << 10
)

// Errors holds the field errors of a body or a parameter, in the order found.
type Errors struct {
	List []*orchv1.FieldError
}

// Error returns the first field errors without the values sent, for logs.
func (e *Errors) Error() string {
	const shown = 5
	var b strings.Builder
	for i, fe := range e.List {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more", len(e.List)-shown)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		for j, step := range fe.GetLoc() {
			if j > 0 {
				b.WriteByte('.')
			}
			if k, ok := step.GetKind().(*orchv1.PathElement_Key); ok {
				b.WriteString(k.Key)
			} else {
				b.WriteString(strconv.FormatInt(step.GetIndex(), 10))
			}
		}
		b.WriteString(": ")
		b.WriteString(fe.GetMsg())
	}
	return b.String()
}

// AppendBody appends the response to a bad request: the message, the field errors and the request body. The body is null when
// nil or longer than the limit, and a string when it is not JSON.
func (e *Errors) AppendBody(dst, request []byte) []byte {
	dst = append(dst, `{"exception_message":"Invalid request received.","exception_detail":`...)
	dst = AppendErrors(dst, e.List)
	dst = append(dst, `,"request_body":`...)
	if len(request) == 0 || len(request) > maxBodyEcho {
		return append(dst, "null}"...)
	}
	compact, err := Compact(request)
	if err != nil {
		dst = jsontoken.AppendString(dst, strings.ToValidUTF8(string(request), "\uFFFD"))
	} else {
		dst = append(dst, compact...)
	}
	return append(dst, '}')
}

// AppendErrors appends field errors as a JSON array of {"type", "loc", "msg", "input", "ctx"}. An error without its value
// has no "input", one without a rule no "ctx".
func AppendErrors(dst []byte, list []*orchv1.FieldError) []byte {
	dst = append(dst, '[')
	for i, fe := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":`...)
		dst = jsontoken.AppendString(dst, fe.GetType())
		dst = append(dst, `,"loc":[`...)
		for j, step := range fe.GetLoc() {
			if j > 0 {
				dst = append(dst, ',')
			}
			if k, ok := step.GetKind().(*orchv1.PathElement_Key); ok {
				dst = jsontoken.AppendString(dst, k.Key)
			} else {
				dst = strconv.AppendInt(dst, step.GetIndex(), 10)
			}
		}
		dst = append(dst, `],"msg":`...)
		dst = jsontoken.AppendString(dst, fe.GetMsg())
		if in := fe.GetInput(); len(in) > 0 {
			dst = append(dst, `,"input":`...)
			dst = append(dst, in...)
		}
		if context := fe.GetCtx(); len(context) > 0 {
			dst = append(dst, `,"ctx":`...)
			dst = append(dst, context...)
		} else if fe.GetType() == "value_error" {
			dst = append(dst, `,"ctx":{"error":{}}`...) // As the reference writes the exception of a validator.
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// step is one element of a path to a value.
type step struct {
	key   string
	index int // -1: the step is a key
}

func (s step) element() *orchv1.PathElement {
	if s.index < 0 {
		return &orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: cut(s.key, maxStep)}}
	}
	return &orchv1.PathElement{Kind: &orchv1.PathElement_Index{Index: int64(s.index)}}
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
