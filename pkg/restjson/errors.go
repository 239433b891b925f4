package restjson

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// MaxFaults bounds the faults that are collected of one body.
	MaxFaults = 100
	// maxEcho bounds, in bytes, the value that a fault repeats; longer ones are left out.
	maxEcho = 1024
	// maxStep bounds, in bytes, a key in the place of a fault: every fault below a key repeats it.
	maxStep = 256
	// maxBodyEcho bounds, in bytes, the body that an answer repeats.
	maxBodyEcho = 64 << 10
)

// Errors is what is wrong with a body or a parameter, in the order found.
type Errors struct {
	List []*orchv1.FieldError
}

// Error lists the first faults, for logs; the values given are left out.
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

// AppendBody writes the answer to a bad request: the message, the faults and the request's body, which is null when
// it is nil or too long to repeat, and a string when it is no JSON.
func (e *Errors) AppendBody(dst, request []byte) []byte {
	dst = append(dst, `{"exception_message":"Invalid request received.","exception_detail":`...)
	dst = AppendErrors(dst, e.List)
	dst = append(dst, `,"request_body":`...)
	switch compact, err := Compact(request); {
	case len(request) == 0 || len(request) > maxBodyEcho:
		dst = append(dst, "null"...)
	case err != nil:
		dst = jsontoken.AppendString(dst, strings.ToValidUTF8(string(request), "\uFFFD"))
	default:
		dst = append(dst, compact...)
	}
	return append(dst, '}')
}

// AppendErrors writes faults as a JSON array of {"type", "loc", "msg", "input"}; a value that is not repeated has no
// "input".
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
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// step is one element of the way to a value.
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

// cut shortens s to at most n bytes, at the edge of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
