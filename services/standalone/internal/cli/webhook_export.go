package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// webhookFields are the fields of a webhook that a file of webhooks may set, in the order in which export writes them.
var webhookFields = []string{
	"name", "description", "enabled", "template", "undefined", "methods", "service_account_id", "verification", "deduplication",
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
			root := &yaml.Node{Kind: yaml.SequenceNode}
			document := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "webhooks"}, root}}
			for _, w := range current {
				if w.fields["verification"] != nil || slices.Contains(texts(w.fields["handshakes"]), "meta") {
					document.HeadComment = exportNote
				}
				item, err := exported(w.fields)
				if err != nil {
					return err
				}
				root.Content = append(root.Content, item)
			}
			encoder := yaml.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent(2)
			if err := encoder.Encode(document); err != nil {
				return fmt.Errorf("write webhooks: %w", err)
			}
			return encoder.Close()
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

// exported returns the fields of a webhook that differ from the defaults, in their order.
func exported(fields map[string]any) (*yaml.Node, error) {
	item := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range webhookFields {
		value := fields[name]
		if isDefault(name, value) {
			continue
		}
		key, node := &yaml.Node{}, &yaml.Node{}
		if err := key.Encode(name); err != nil {
			return nil, fmt.Errorf("write webhooks: %w", err)
		}
		if err := node.Encode(value); err != nil {
			return nil, fmt.Errorf("write webhooks: %w", err)
		}
		item.Content = append(item.Content, key, node)
	}
	return item, nil
}

// isDefault reports whether a new webhook has the value without being told.
func isDefault(name string, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" || name == "undefined" && v == "lenient"
	case bool:
		return v
	case []any:
		return len(v) == 0
	}
	return false
}

// currentWebhook is a webhook of the server.
type currentWebhook struct {
	id     string
	name   string
	fields map[string]any
}

// currentWebhooks reads all webhooks of the workspace, by name.
func currentWebhooks(ctx context.Context, s *remote.Server) ([]currentWebhook, error) {
	texts, err := list(ctx, s, s.InWorkspace("/webhooks/filter"))
	if err != nil {
		return nil, err
	}
	out := make([]currentWebhook, len(texts))
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
