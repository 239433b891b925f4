package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func webhookCreateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a webhook, and show its address",
		Long: `Make a webhook, and show its address. Whoever knows the address can post to it, unless requests must be signed
(--preset or --scheme, with --secret-file) or carry a service account's key (--service-account). Flags override a preset.`,
		Example: `  orch webhook create pushes --preset github --secret-file secret.txt
  orch webhook create alarms -t '{"event": "alarm", "resource": {"` + vocabulary.Orch.ResourceID() + `": "{{ body.host }}"}}'
  orch webhook create builds --template-file build.jinja --scheme token --header X-Build-Token --secret-file secret.txt`,
		Args: cobra.ExactArgs(1),
	}
	flags := newWebhookFlags(cmd)
	disabled := cmd.Flags().Bool("disabled", false, "make it, but take no requests yet")
	preset := cmd.Flags().String("preset", "", "set it up for a `provider`; orch webhook presets lists them")
	ifAbsent := cmd.Flags().Bool("if-absent", false, "do nothing if a webhook has the name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		if *ifAbsent {
			if existing, err := webhooksNamed(cmd.Context(), s, args[0]); err != nil || len(existing) > 0 {
				return errors.Join(err, showAll(c, cmd, existing, webhookHead, webhookRow))
			}
		}
		var fields map[string]any
		if *preset != "" {
			if fields, err = presetFields(cmd.Context(), s, *preset); err != nil {
				return err
			}
		}
		body, err := flags.body(cmd.Context(), s, fields)
		if err != nil {
			return err
		}
		if err := checkCreate(body, *preset); err != nil {
			return err
		}
		body["name"], body["enabled"] = args[0], !*disabled
		answer, err := s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/webhooks/"), body)
		if err != nil {
			return err
		}
		warnOfLabels(cmd, s, body)
		if id, ok := body["service_account_id"].(string); ok && id != "" {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Requests get 401 unless the service account has a role in this workspace: "+
				"orch workspace grant --service-account %s --role Viewer\n", flags.account)
		}
		return show(c, cmd, answer, webhookHead, webhookRow)
	}
	return cmd
}

// needed returns the field that a new webhook lacks: template, secrets or verify_token; empty if it lacks none.
func needed(body map[string]any) string {
	if template, _ := body["template"].(string); template == "" {
		return "template"
	}
	if verification, ok := body["verification"].(map[string]any); ok && verification["secrets"] == nil && verification["scheme"] != "sns" {
		return "secrets"
	}
	handshakes, _ := body["handshakes"].([]string) // Of flags; those of a file are a list of any.
	if slices.Contains(append(handshakes, texts(body["handshakes"])...), "meta") && body["verify_token"] == nil {
		return "verify_token"
	}
	return ""
}

// checkCreate refuses a webhook that the server would refuse, and names the flags that are missing.
func checkCreate(body map[string]any, preset string) error {
	switch field := needed(body); {
	case field == "template":
		return fmt.Errorf("%w: a webhook needs --preset, --template or --template-file. A template renders a JSON object with "+
			"an event's name and a resource's id; `orch webhook presets` lists the presets", errArgument)
	case field == "verify_token":
		return fmt.Errorf("%w: --handshake meta needs the token that Meta presents: --verify-token-file or --verify-token", errArgument)
	case field == "":
		return nil
	case preset != "":
		return fmt.Errorf("%w: the preset %s needs the secret that the sender uses: --secret-file or --secret; see `orch webhook presets %s`",
			errArgument, preset, preset)
	}
	return fmt.Errorf("%w: --scheme needs the secret that the sender uses: --secret-file or --secret", errArgument)
}

// webhooksNamed returns the webhooks of a name.
func webhooksNamed(ctx context.Context, s *remote.Server, name string) ([]json.RawMessage, error) {
	found, err := remote.Read[[]json.RawMessage](ctx, s, http.MethodPost, s.InWorkspace("/webhooks/filter"),
		map[string]any{"webhooks": map[string]any{"name": map[string]any{"any_": []string{name}}}})
	if err != nil {
		return nil, fmt.Errorf("find webhooks of the name: %w", err)
	}
	return found, nil
}
