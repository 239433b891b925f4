package pages

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// resourcePages are the pages of resources by the kind in their id: "orch.flow-run.<uuid>".
var resourcePages = map[string][]string{
	"flow-run": {"runs", "flow-run"}, "task-run": {"runs", "task-run"}, "flow": {"flows", "flow"},
	"deployment": {"deployments", "deployment"}, "event": {"trace", "event"}, "webhook": {"webhooks", "webhook"},
	"automation": {"automations", "automation"}, "event-type": {"events", "types", "type"}, "destination": {"destinations", "destination"},
}

// resourceLink returns the address of a resource's page, empty without one.
func resourceLink(r *page.Request, id string) string {
	rest, found := strings.CutPrefix(id, r.Server.Vocabulary.Name(""))
	if !found {
		rest, found = strings.CutPrefix(id, r.Server.Vocabulary.CloudName(""))
	}
	dot := strings.LastIndexByte(rest, '.')
	if !found || dot < 0 {
		return ""
	}
	segments, ok := resourcePages[rest[:dot]]
	parsed, err := uuid.Parse(rest[dot+1:])
	if !ok || err != nil {
		return ""
	}
	return r.To(append(slices.Clone(segments), parsed.String())...)
}

// resourceMarkup shows a resource by its name and id, with a link if it has a page.
func resourceMarkup(r *page.Request, labels map[string]string) markup.Markup {
	id := labels[r.Server.Vocabulary.ResourceID()]
	name := labels[r.Server.Vocabulary.ResourceName()]
	if name == "" {
		name = id
	}
	if to := resourceLink(r, id); to != "" {
		return show.Link(to, name)
	}
	return show.Text(show.Line(name, 80))
}
