package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// renderDraft lets the server render a template, behind a filter that may be empty, with an empty request.
func renderDraft(ctx context.Context, s *remote.Server, template, filter string) (rendering, error) {
	draft := map[string]any{"template": template, "filter": filter}
	return remote.Read[rendering](ctx, s, http.MethodPost, s.InWorkspace("/webhooks/render"), draft)
}

// warnOfLabels prints a warning for each label of the other vocabulary in a webhook's template: its events would be refused.
func warnOfLabels(cmd *cobra.Command, s *remote.Server, fields map[string]any) {
	template, ok := fields["template"].(string)
	if !ok {
		return
	}
	r, err := renderDraft(cmd.Context(), s, template, "")
	if err != nil {
		return // The webhook was created or changed; a warning that is missing is no failure.
	}
	r.warnOfLabels(cmd, template)
}

func (r rendering) warnOfLabels(cmd *cobra.Command, template string) {
	for _, warning := range r.Warnings {
		if warning.Stage == stageEvent {
			printWarning(cmd, warning, template)
		}
	}
}

// The stages of warnings and errors.
const (
	stageFilter   = "filter"
	stageTemplate = "template"
	stageEvent    = "event"
)

// printWarning prints a warning of a rendering with the line of the template.
func printWarning(cmd *cobra.Command, warning renderingError, template string) {
	message := warning.Message
	if warning.Stage == stageTemplate {
		message = "strict mode would fail: " + message
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n%s", placed(message, warning.Line, warning.Column), sourceLine(template, warning.Line, warning.Column))
}
