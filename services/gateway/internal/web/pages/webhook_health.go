package pages

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// unhealthy reports whether requests of a webhook fail, or do not come.
func unhealthy(w *orchv1.Webhook) bool {
	switch w.GetHealth().GetStatus() {
	case orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_FAILING, orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_SILENT:
		return true
	}
	return false
}

// webhookHealth shows the health of a webhook with the time at which it began, and what failed.
func webhookHealth(r *page.Request, w *orchv1.Webhook) markup.Markup {
	h := w.GetHealth()
	if h == nil {
		return markup.Markup{}
	}
	text := webhookFailures(h)
	if h.GetFiltered() > 0 {
		text = strings.TrimPrefix(text+", "+show.Count(h.GetFiltered())+" filtered", ", ")
	}
	return show.Health(enumWord(h.GetStatus()), unhealthy(w), clockOf(r).Time(h.GetSince()), text)
}

// webhookFailures words how many requests of a webhook failed; empty if none did.
func webhookFailures(h *orchv1.WebhookHealth) string {
	if h.GetFailures() == 0 {
		return ""
	}
	text := show.Count(h.GetFailures()) + " of " + show.Plural(h.GetRequests(), "request", "requests") + " failed"
	if h.GetReason() != "" {
		text += ", last for " + h.GetReason()
	}
	return text
}
