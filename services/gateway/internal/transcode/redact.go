package transcode

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// redactor removes the keys of internal and secret fields from the request parts that a 422 echoes. It matches keys by
// name at any depth: an echo may lose a user's key but never shows a secret one. For most messages it is nil.
type redactor map[string]bool

func redactorOf(md protoreflect.MessageDescriptor) redactor {
	names := redactor{}
	seen := map[protoreflect.FullName]bool{}
	var visit func(protoreflect.MessageDescriptor)
	visit = func(md protoreflect.MessageDescriptor) {
		if seen[md.FullName()] {
			return
		}
		seen[md.FullName()] = true
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if restjson.Internal(fd) || restjson.Secret(fd) {
				names[restjson.Name(fd)] = true
			}
			if fd.IsMap() {
				fd = fd.MapValue()
			}
			if fd.Message() != nil {
				visit(fd.Message())
			}
		}
	}
	visit(md)
	if len(names) == 0 {
		return nil
	}
	return names
}

// body returns the part of a request's body that a response may echo.
func (rd redactor) body(raw []byte) []byte {
	if rd == nil || !rd.mentionedIn(raw) {
		return raw
	}
	clean, err := rd.value(raw)
	if err != nil {
		return nil
	}
	return clean
}

// field errors returns the field errors without confidential input.
func (rd redactor) fieldErrors(list []*orchv1.FieldError) []*orchv1.FieldError {
	if rd == nil {
		return list
	}
	for _, fieldError := range list {
		if len(fieldError.GetInput()) == 0 {
			continue
		}
		for _, step := range fieldError.GetLoc() {
			if rd[step.GetKey()] {
				fieldError.Input = nil
			}
		}
		fieldError.Input = rd.body(fieldError.GetInput())
	}
	return list
}

func (rd redactor) mentionedIn(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return true // A key may be written with escapes.
	}
	for name := range rd {
		if bytes.Contains(raw, []byte(name)) {
			return true
		}
	}
	return false
}

// value rewrites a JSON value without the confidential keys.
func (rd redactor) value(raw []byte) ([]byte, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	out := []byte{raw[0]}
	for decoder.More() {
		var key string
		if raw[0] == '{' {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			key, _ = token.(string)
		}
		var member json.RawMessage
		if err := decoder.Decode(&member); err != nil {
			return nil, err
		}
		if rd[key] {
			continue
		}
		clean, err := rd.value(member)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if raw[0] == '{' {
			out = append(jsontoken.AppendString(out, key), ':')
		}
		out = append(out, clean...)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	return append(out, raw[0]+2), nil // '{' + 2 is '}', '[' + 2 is ']'.
}
