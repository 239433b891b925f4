package automations

import (
	"fmt"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// fieldErrors collects the errors of an automation, so one response reports all of them.
type fieldErrors struct{ list []*orchv1.FieldError }

// fieldPath locates a field error in the request: keys and indexes, starting with the body.
type fieldPath []*orchv1.PathElement

var body = fieldPath{}.key("body")

func (p fieldPath) key(name string) fieldPath {
	return append(slices.Clone(p), &orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: name}})
}

func (p fieldPath) index(i int) fieldPath {
	return append(slices.Clone(p), &orchv1.PathElement{Kind: &orchv1.PathElement_Index{Index: int64(i)}})
}

func (f *fieldErrors) add(at fieldPath, format string, args ...any) {
	f.list = append(f.list, &orchv1.FieldError{Type: "value_error", Msg: "Value error, " + fmt.Sprintf(format, args...), Loc: at})
}
