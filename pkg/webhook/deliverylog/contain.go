package deliverylog

import (
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Containing returns a predicate of deliveries: the request or its outcome contains a text, and case does not matter. The text of a header
// is "name: value". Bytes of a body that are no text do not match.
func Containing(text string) func(*orchv1.WebhookDelivery) bool {
	text = strings.ToLower(text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	hasHeader := func(headers map[string]string) bool {
		for name, value := range headers {
			if has(name + ": " + value) {
				return true
			}
		}
		return false
	}
	return func(d *orchv1.WebhookDelivery) bool {
		fields := []string{
			d.GetId(), d.GetMethod() + " " + d.GetPath(), d.GetQuery(), d.GetRemoteAddress(), d.GetReason(), d.GetError(), d.GetRendered(), d.GetEvent(),
			d.GetEventId(), d.GetReplayedEventId(), d.GetHandshake(), d.GetResponse().GetBody(), d.GetResponse().GetError().GetMessage(),
		}
		return slices.ContainsFunc(fields, has) || slices.ContainsFunc(d.GetEventIds(), has) ||
			hasHeader(d.GetHeaders()) || hasHeader(d.GetResponse().GetHeaders()) || has(Body(d))
	}
}
