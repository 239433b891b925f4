package show

import (
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// OutcomeClass returns the state class that colours a delivery.
func OutcomeClass(d *orchv1.WebhookDelivery) string {
	switch {
	case d.GetStatus() >= 500:
		return "crashed"
	case d.GetStatus() >= 400:
		return "failed"
	case d.GetDuplicate(), d.GetReason() != "":
		return "cancelled"
	case d.Handshake != nil:
		return "running"
	}
	return "completed"
}

// OutcomeWord returns what became of a delivery in a word.
func OutcomeWord(d *orchv1.WebhookDelivery) string {
	switch {
	case d.GetReason() != "":
		return d.GetReason()
	case d.GetStatus() >= 400:
		return "failed"
	case d.GetDuplicate():
		return "duplicate"
	case d.Handshake != nil:
		return "handshake"
	}
	return "event"
}

// Outcome returns the badge of a delivery: icon, HTTP status and word.
func Outcome(d *orchv1.WebhookDelivery) markup.Markup {
	class := OutcomeClass(d)
	var b markup.Builder
	b.Raw(`<span class="state s-`, class, `">`, icon(class)).Text(strconv.FormatInt(d.GetStatus(), 10) + " " + Line(OutcomeWord(d), 24)).Raw("</span>")
	return b.Markup()
}
