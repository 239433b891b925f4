package pages

import "github.com/orch-project/orch/services/gateway/internal/web/page"

// consolePages are the pages of webhooks, events and traces.
func consolePages() []page.Page {
	return append([]page.Page{
		webhooksPage(), webhookNewPage(), webhookPage(), webhookEditPage(), deliveryPage(),
		benchPage(), replayPage(),
		eventsPage(), eventPage(), payloadPage(), tracePage(),
	}, eventTypePages()...)
}
