package events

import (
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// CheckNames returns the field errors of names in an event that only the server may write: of its audit events, and of the
// accounts, users and webhooks in them. Whoever writes events could otherwise forge what the audit says.
func CheckNames(v vocabulary.Vocabulary, name string, resource *orchv1.Resource, related []*orchv1.RelatedResource) []FieldError {
	var fieldErrors []FieldError
	check := func(name string, path ...any) {
		if vocabulary.Reserved(name) {
			fieldErrors = append(fieldErrors, refused("Only the server writes names that begin with "+v.CloudName()+".", path...))
		}
	}
	check(name, "event")
	id := v.ResourceID()
	check(resource.GetLabels()[id], "resource")
	for i, r := range related {
		check(r.GetLabels()[id], "related", i)
	}
	return fieldErrors
}
