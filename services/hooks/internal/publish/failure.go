package publish

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxError bounds the message of a failure, in bytes.
const maxError = 4 << 10

// Failure is a request that became no event.
type Failure struct {
	Hook    *orchv1.WebhookDefinition
	Request *receive.Request
	// Rendered is what the template rendered; nil when it did not.
	Rendered *string
	// Err is what went wrong. Its message is for the webhook's owner.
	Err error
	// WithoutBody leaves the body out, for requests that did not prove who they are: nobody without a credential may
	// fill the store.
	WithoutBody bool
}

// Event is the event that tells of the failure. Its payload has the request's method, headers and body, what was
// rendered and the error. Body and rendered text are cut, so that this event is always small enough itself; a key
// body_truncated or rendered_truncated then says so. Credentials are masked.
func (f Failure) Event(vocab vocabulary.Vocabulary, ids *id.Source) *orchv1.ReceivedEvent {
	r := f.Request
	message, _ := redact.Cut(redact.Text(r, f.Err.Error()), maxError)
	members := []jsontree.Member{
		{Key: "method", Value: r.Method},
		{Key: "headers", Value: redact.Headers(r)},
		{Key: "body"},
		{Key: "rendered"},
		{Key: "error", Value: message},
	}
	add := func(key string) {
		members = append(members, jsontree.Member{Key: key, Value: true})
	}
	if !f.WithoutBody {
		excerpt, truncated := r.BodyExcerpt()
		if truncated {
			members[2].Value = excerpt
			add("body_truncated")
		} else {
			members[2].Value = redact.Body(r.Body())
		}
	}
	if f.Rendered != nil {
		rendered := redact.Text(r, *f.Rendered)
		short, shortened := redact.Cut(rendered, receive.Excerpt)
		members[3].Value = short
		if shortened {
			add("rendered_truncated")
		}
	}
	return &orchv1.ReceivedEvent{
		Id:       ids.New().String(),
		Event:    vocab.CloudName("webhook", "failed"),
		Occurred: timestamppb.New(r.Received),
		Received: timestamppb.New(r.Received),
		Resource: &orchv1.Resource{Labels: map[string]string{
			vocab.ResourceID():   vocab.CloudName("webhook", f.Hook.GetId()),
			vocab.ResourceName(): f.Hook.GetName(),
		}},
		Payload: jsontree.Text(jsontree.NewObject(members...)),
	}
}
