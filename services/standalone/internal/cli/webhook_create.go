package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
)

func webhookCreateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a webhook, and show its address",
		Long: `Make a webhook, and show its address. Whoever knows the address can post to it, unless requests must be signed
(--scheme, --secret-file) or carry a service account's key (--service-account).`,
		Example: `  orch webhook create pushes --template-file push.jinja --scheme github --secret-file secret.txt
  orch webhook create alarms -t '{"event": "alarm", "resource": {"` + vocabulary.Orch.ResourceID() + `": "{{ body.host }}"}}'`,
		Args: cobra.ExactArgs(1),
	}
	flags := newWebhookFlags(cmd)
	disabled := cmd.Flags().Bool("disabled", false, "make it, but take no requests yet")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		body, err := flags.body(cmd.Context(), s)
		if err != nil {
			return err
		}
		if _, ok := body["template"]; !ok {
			return fmt.Errorf("%w: a webhook needs a template: --template or --template-file. It renders a JSON object with "+
				"an event's name and a resource's id", errArgument)
		}
		body["name"], body["enabled"] = args[0], !*disabled
		answer, err := s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/webhooks/"), body)
		if err != nil {
			return err
		}
		if id, ok := body["service_account_id"].(string); ok && id != "" {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Requests get 401 unless the service account has a role in this workspace: "+
				"orch workspace grant --service-account %s --role Viewer\n", flags.account)
		}
		return show(c, cmd, answer, webhookHead, webhookRow)
	}
	return cmd
}
