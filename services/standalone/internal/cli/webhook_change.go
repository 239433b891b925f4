package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func webhookUpdateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update WEBHOOK",
		Short: "Change a webhook; settings that you do not name stay the same",
		Args:  cobra.ExactArgs(1),
	}
	flags := newWebhookFlags(cmd)
	name := cmd.Flags().StringP("name", "n", "", "its new name")
	cmd.Flags().BoolVar(&flags.noAccount, "no-service-account", false, "take requests without a service account's key")
	cmd.Flags().BoolVar(&flags.noSignature, "no-signature", false, "take requests that are not signed")
	cmd.Flags().BoolVar(&flags.response.none, "no-response", false, "let senders receive an empty 204 again")
	cmd.MarkFlagsMutuallyExclusive("service-account", "no-service-account")
	for _, flag := range []string{"response-status", "response-header", "response-body", "response-body-file"} {
		cmd.MarkFlagsMutuallyExclusive(flag, "no-response")
	}
	cmd.MarkFlagsMutuallyExclusive("scheme", "no-signature")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		body, err := flags.body(cmd.Context(), s, nil)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("name") {
			body["name"] = *name
		}
		if len(body) == 0 {
			return fmt.Errorf("%w: no flag says what to change", errArgument)
		}
		if _, err := s.Call(cmd.Context(), http.MethodPatch, path, body); err != nil {
			return err
		}
		warnOfLabels(cmd, s, body)
		return c.showWebhook(cmd, s, path)
	}
	return cmd
}

// showWebhook shows a webhook as it is after a change.
func (c *connection) showWebhook(cmd *cobra.Command, s *remote.Server, path string) error {
	answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return show(c, cmd, answer, webhookHead, webhookRow)
}

func webhookEnableCommand(c *connection) *cobra.Command {
	return webhookSwitchCommand(c, "enable", "Enable a webhook", true)
}

func webhookDisableCommand(c *connection) *cobra.Command {
	return webhookSwitchCommand(c, "disable", "Disable a webhook without deleting it: requests get 404", false)
}

func webhookSwitchCommand(c *connection, verb, short string, enabled bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " WEBHOOK", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.webhookOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if _, err := s.Call(cmd.Context(), http.MethodPatch, path, map[string]any{"enabled": enabled}); err != nil {
				return err
			}
			return c.showWebhook(cmd, s, path)
		},
	}
}

func webhookToggleCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "toggle WEBHOOK",
		Short: "Enable a disabled webhook, disable an enabled one; or say which",
		Args:  cobra.ExactArgs(1),
	}
	on := cmd.Flags().Bool("on", false, "enable it, whatever it is")
	off := cmd.Flags().Bool("off", false, "disable it, whatever it is")
	cmd.MarkFlagsMutuallyExclusive("on", "off")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		enabled := *on
		if !*on && !*off {
			w, err := remote.Read[webhookSummary](cmd.Context(), s, http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			enabled = !w.Enabled
		}
		if _, err := s.Call(cmd.Context(), http.MethodPatch, path, map[string]any{"enabled": enabled}); err != nil {
			return err
		}
		return c.showWebhook(cmd, s, path)
	}
	return cmd
}

func webhookRotateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate WEBHOOK",
		Short: "Give a webhook a new address; the old one is gone at once",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if err := confirm(cmd, *yes, "Whoever posts to the old address of "+args[0]+" will get 404. Go on?"); err != nil {
			return err
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/rotate", nil)
		if err != nil {
			return err
		}
		return show(c, cmd, answer, webhookHead, webhookRow)
	}
	return cmd
}

func webhookDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete WEBHOOK",
		Short: "Delete a webhook; its address is gone at once",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return c.remove(cmd, s, path, *yes, "Delete webhook "+args[0]+"?", "Webhook "+args[0]+" is deleted.")
	}
	return cmd
}
