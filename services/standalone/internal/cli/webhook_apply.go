package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// change is what apply does with one webhook.
type change struct {
	verb   string // create, change, delete or unchanged
	name   string
	id     string         // of an existing webhook
	body   map[string]any // the fields to send
	before map[string]any // the fields as they are
}

func webhookApplyCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change webhooks so that they are as a file describes them",
		Long: `Create and change webhooks so that they are as a YAML file describes them. Webhooks are recognized by name; fields that
the file does not name stay. Nothing is changed if the file or a template in it is invalid.

The file has a list "webhooks", whose items have the fields of the API, "preset" for those of a preset, and
"verification.secrets_file" and "verify_token_file", paths relative to the file. Secrets are sent for a new webhook, for
another scheme, and with --update-secrets.`,
		Example: `  orch webhook export > webhooks.yaml
  orch webhook apply -f webhooks.yaml --dry-run`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "the file")
	_ = cmd.MarkFlagRequired("file")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the changes only")
	prune := cmd.Flags().Bool("prune", false, "delete the webhooks that the file does not name")
	secrets := cmd.Flags().Bool("update-secrets", false, "send the secrets of existing webhooks too")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		wanted, err := (&webhookFile{cmd: cmd, path: *file, server: s}).read(cmd.Context())
		if err != nil {
			return err
		}
		changes, err := planWebhooks(cmd.Context(), s, wanted, *prune, *secrets)
		if err != nil {
			return err
		}
		for _, one := range changes {
			c.showChange(cmd, one)
		}
		if *dryRun {
			return nil
		}
		if slices.ContainsFunc(changes, func(one change) bool { return one.verb == "delete" }) {
			if err := confirm(cmd, *yes, "Delete the webhooks that the file does not name?"); err != nil {
				return err
			}
		}
		for i, one := range changes {
			if err := one.apply(cmd.Context(), s); err != nil {
				return fmt.Errorf("%s webhook %s: %w; the %d webhooks before it are applied, and apply can be repeated", one.verb, one.name, err, i)
			}
		}
		return nil
	}
	return cmd
}

// showChange prints a change with the fields before and after it, without secrets.
func (c *connection) showChange(cmd *cobra.Command, one change) {
	c.say(cmd, "%-9s %s", one.verb, one.name)
	if one.verb != "change" {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(one.body)) {
		after := one.body[field]
		if verification, ok := after.(map[string]any); ok {
			after = withoutSecrets(verification)
		}
		if field == "verify_token" {
			c.say(cmd, "  + %s: (secret)", field)
			continue
		}
		for _, side := range []struct {
			sign  string
			value any
		}{{"-", one.before[field]}, {"+", after}} {
			text, err := json.Marshal(side.value)
			if err != nil {
				text = []byte(err.Error())
			}
			c.say(cmd, "  %s %s: %s", side.sign, field, text)
		}
	}
}

// apply sends a change.
func (one change) apply(ctx context.Context, s *remote.Server) error {
	var err error
	switch one.verb {
	case "create":
		_, err = s.Call(ctx, http.MethodPost, s.InWorkspace("/webhooks/"), one.body)
	case "change":
		_, err = s.Call(ctx, http.MethodPatch, s.InWorkspace("/webhooks/"+one.id), one.body)
	case "delete":
		_, err = s.Call(ctx, http.MethodDelete, s.InWorkspace("/webhooks/"+one.id), nil)
	}
	return err
}
