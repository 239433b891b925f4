package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// sayLastChange prints when a record was created or changed last, and by whom. It prints nothing if the server has deleted the event of
// the change, or the caller may not read events.
func (c *connection) sayLastChange(cmd *cobra.Command, s *remote.Server, kind string, record json.RawMessage) {
	one, err := remote.Decode[struct {
		ID string `json:"id"`
	}](record)
	if err != nil || one.ID == "" {
		return
	}
	found, err := readEvents(cmd.Context(), s, map[string]any{
		"filter": map[string]any{
			"resource": map[string]any{"id": inEachVocabulary(kind, one.ID)}, "order": "DESC",
			"event": map[string]any{"name": append(inEachVocabulary(kind, "created"), inEachVocabulary(kind, "updated")...)}, // Not events of clients.
		}, "limit": 1,
	}, 1)
	if err != nil || len(found) == 0 {
		return
	}
	change, err := remote.Decode[tracedEvent](found[0])
	if err != nil {
		return
	}
	verb := change.Event[strings.LastIndex(change.Event, ".")+1:]
	text := strings.ToUpper(verb[:1]) + verb[1:] + " at " + change.Occurred.Format(time.RFC3339)
	if actor := change.actor(); actor != "" {
		text += " by " + printable(actorName(cmd.Context(), s, actor))
	}
	c.say(cmd, "\n%s.", text)
}

// actor returns the id of the caller who caused the event; empty if the server did not know the caller.
func (e tracedEvent) actor() string {
	for _, labels := range e.Related {
		if labelOf(labels, ".resource.role") == "actor" {
			return labelOf(labels, ".resource.id")
		}
	}
	return ""
}

// actorName returns the e-mail address of a user, or the name of a service account; the id of the actor if the caller may not read them.
func actorName(ctx context.Context, s *remote.Server, actor string) string {
	in, err := account(ctx, s)
	if err != nil {
		return actor
	}
	id := actor[strings.LastIndex(actor, ".")+1:]
	for _, list := range []struct{ path, key, name string }{
		{"/account_memberships/filter", "user_id", "email"}, {"/bots/filter", "id", nameField},
	} {
		records, err := remote.Read[[]map[string]any](ctx, s, http.MethodPost, "/accounts/"+in+list.path, map[string]any{})
		if err != nil {
			continue
		}
		for _, one := range records {
			if plain(one[list.key]) == id {
				return plain(one[list.name])
			}
		}
	}
	return actor
}
