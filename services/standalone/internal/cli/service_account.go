package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

type serviceAccount struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	ActorID string `json:"actor_id"`
	Role    string `json:"account_role_name"`
	Key     apiKey `json:"api_key"`
}

var serviceAccountHead = []string{"ID", "NAME", "ROLE", "KEY EXPIRES"}

func serviceAccountRow(a serviceAccount) []string {
	return []string{a.ID, a.Name, a.Role, expiry(a.Key.Expiration)}
}

func serviceAccountCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{Use: "service-account", Short: "Manage service accounts"},
		serviceAccountListCommand, serviceAccountCreateCommand, serviceAccountRotateCommand, serviceAccountDeleteCommand)
}

// bots returns the server and the path of the account's service accounts.
func (c *connection) bots(ctx context.Context) (*remote.Server, string, error) {
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	in, err := account(ctx, s)
	return s, "/accounts/" + in + "/bots", err
}

// botOf returns the server and the path of the service account that an argument identifies.
func (c *connection) botOf(ctx context.Context, argument string) (*remote.Server, string, error) {
	s, path, err := c.bots(ctx)
	if err != nil {
		return nil, "", err
	}
	id, err := find(ctx, s, path, "service_accounts", argument)
	if err != nil {
		return nil, "", fmt.Errorf("find the service account: %w", err)
	}
	return s, path + "/" + id, nil
}

func serviceAccountListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the service accounts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, path, err := c.bots(cmd.Context())
			if err != nil {
				return err
			}
			all, err := list(cmd.Context(), s, path+"/filter")
			if err != nil {
				return err
			}
			return showAll(c, cmd, all, serviceAccountHead, serviceAccountRow)
		},
	}
}

func serviceAccountCreateCommand(c *connection) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a service account, and print its key once",
		Args:  cobra.ExactArgs(1),
	}
	expires := expiresFlag(cmd, "the key")
	cmd.Flags().StringVar(&role, "role", "", "the account role, by name or id (default Member)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := expires()
		if err != nil {
			return err
		}
		s, path, err := c.bots(cmd.Context())
		if err != nil {
			return err
		}
		body := map[string]any{"name": args[0], "api_key_expiration": at}
		if role != "" {
			in, err := account(cmd.Context(), s)
			if err != nil {
				return err
			}
			if body["account_role_id"], err = find(cmd.Context(), s, "/accounts/"+in+"/account_roles", "account_roles", role); err != nil {
				return fmt.Errorf("find the role: %w", err)
			}
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/", body)
		if err != nil {
			return err
		}
		return c.showNewKey(cmd, answer)
	}
	return cmd
}

// showNewKey prints a service account with its new key.
func (c *connection) showNewKey(cmd *cobra.Command, answer json.RawMessage) error {
	if err := show(c, cmd, answer, serviceAccountHead, serviceAccountRow); err != nil {
		return err
	}
	made, err := remote.Decode[serviceAccount](answer)
	if err != nil {
		return err
	}
	c.sayKey(cmd, made.Key.Key)
	return nil
}

func serviceAccountRotateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate SERVICE-ACCOUNT",
		Short: "Create a new key for a service account, and print it once",
		Args:  cobra.ExactArgs(1),
	}
	expires := expiresFlag(cmd, "the new key")
	overlap := spanFlag(cmd.Flags(), "overlap", "how long the old key stays valid, at most 48h; the default revokes it at once")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := expires()
		if err != nil {
			return err
		}
		s, path, err := c.botOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *overlap == 0 {
			if err := confirm(cmd, *yes, "The old key of "+args[0]+" dies at once. Go on?"); err != nil {
				return err
			}
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/rotate_api_key", map[string]any{
			"api_key_expiration": at, "old_key_expires_in_seconds": int64(*overlap / time.Second),
		})
		if err != nil {
			return err
		}
		return c.showNewKey(cmd, answer)
	}
	return cmd
}

func serviceAccountDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete SERVICE-ACCOUNT",
		Short: "Delete a service account, its keys, and the webhooks that it protects",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.botOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return c.remove(cmd, s, path, *yes,
			"Delete service account "+args[0]+" and the webhooks that it guards?", "Service account "+args[0]+" is deleted.")
	}
	return cmd
}
