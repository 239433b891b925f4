package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// webhookFields are the fields of a webhook that a file of webhooks may set, in the order in which export writes them.
var webhookFields = []string{
	"name", "description", "enabled", "filter", "filter_error", "template", "response", "undefined", "methods", "service_account_id", "verification", "deduplication",
	"handshakes", "verify_token", "rate_limit", "allowed_ips", "max_silence",
}

// exportNote heads an export with webhooks that have secrets.
const exportNote = "Secrets are not exported. A new webhook needs verification.secrets_file, and verify_token_file for the handshake of Meta."

func webhookExportCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Print all webhooks as a YAML file for `orch webhook apply`, without secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			current, err := currentWebhooks(cmd.Context(), s)
			if err != nil {
				return err
			}
			comment := ""
			records := make([]map[string]any, len(current))
			for i, w := range current {
				if w.fields["verification"] != nil || slices.Contains(texts(w.fields["handshakes"]), "meta") {
					comment = exportNote
				}
				records[i] = w.fields
				maps.DeleteFunc(records[i], isDefault)
			}
			return writeRecords(cmd.OutOrStdout(), webhooksKey, comment, webhookFields, records)
		},
	}
}

// texts returns the texts of a JSON list.
func texts(list any) []string {
	var out []string
	values, _ := list.([]any)
	for _, value := range values {
		if text, ok := value.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// isDefault reports whether a new webhook has the value by default.
func isDefault(name string, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" || name == "undefined" && v == "lenient" || name == "filter_error" && v == "fail"
	case bool:
		return v
	case []any:
		return len(v) == 0
	}
	return false
}

// currentWebhooks reads all webhooks of the workspace, by name.
func currentWebhooks(ctx context.Context, s *remote.Server) ([]currentRecord, error) {
	texts, err := list(ctx, s, s.InWorkspace("/webhooks/filter"))
	if err != nil {
		return nil, err
	}
	out := make([]currentRecord, len(texts))
	for i, text := range texts {
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, fmt.Errorf("read webhook: %w", err)
		}
		out[i].id, _ = fields["id"].(string)
		out[i].name, _ = fields["name"].(string)
		if verification, ok := fields["verification"].(map[string]any); ok {
			delete(verification, "secret_count")
			for key, value := range verification {
				if list, isList := value.([]any); value == nil || isList && len(list) == 0 {
					delete(verification, key)
				}
			}
		}
		out[i].fields = fields
	}
	return out, nil
}
