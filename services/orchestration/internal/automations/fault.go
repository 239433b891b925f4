package automations

import (
	"fmt"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// field errors collects what is wrong with an automation, so that a client learns all of it at once.
type fieldErrors struct{ list []*orchv1.FieldError }

// place is where a field error is in the request: the keys and indexes that lead there, from the body on.
type place []*orchv1.PathElement

var body = place{}.key("body")

func (p place) key(name string) place {
	return append(slices.Clone(p), &orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: name}})
}

func (p place) index(i int) place {
	return append(slices.Clone(p), &orchv1.PathElement{Kind: &orchv1.PathElement_Index{Index: int64(i)}})
}

func (f *fieldErrors) add(at place, format string, args ...any) {
	f.list = append(f.list, &orchv1.FieldError{Type: "value_error", Msg: "Value error, " + fmt.Sprintf(format, args...), Loc: at})
}
