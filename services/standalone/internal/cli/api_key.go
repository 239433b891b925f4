package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var apiKeyHead = []string{"ID", "NAME", "EXPIRES"}

func apiKeyRow(k apiKey) []string { return []string{k.ID, k.Name, expiry(k.Expiration)} }

func apiKeyCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{Use: "api-key", Aliases: []string{"api-keys", "key", "keys"}, Short: "Manage your own API keys"},
		apiKeyListCommand, apiKeyCreateCommand, apiKeyDeleteCommand)
}

// myKeys returns the server and the path of the caller's keys.
func (c *connection) myKeys(ctx context.Context) (*remote.Server, string, error) {
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	me, err := remote.Read[struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}](ctx, s, http.MethodGet, "/me/", nil)
	if err != nil {
		return nil, "", err
	}
	if me.Type == "service_account" {
		return nil, "", fmt.Errorf("this key belongs to a service account; manage its keys with `orch service-account rotate`")
	}
	return s, "/users/" + me.ID + "/api_keys", nil
}

func apiKeyListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List your API keys",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, path, err := c.myKeys(cmd.Context())
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, apiKeyHead, apiKeyRow)
		},
	}
}

func apiKeyCreateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API key, and print it once",
		Args:  cobra.ExactArgs(1),
	}
	expires := expiresFlag(cmd, "it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := expires()
		if err != nil {
			return err
		}
		s, path, err := c.myKeys(cmd.Context())
		if err != nil {
			return err
		}
		body := map[string]any{"name": args[0]}
		if at != nil {
			body["expiration"] = at
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path, body)
		if err != nil {
			return err
		}
		if err := show(c, cmd, answer, apiKeyHead, apiKeyRow); err != nil {
			return err
		}
		made, err := remote.Decode[apiKey](answer)
		if err != nil {
			return err
		}
		c.sayKey(cmd, made.Key)
		return nil
	}
	return cmd
}

func apiKeyDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete an API key; every server refuses it within seconds",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.myKeys(cmd.Context())
		if err != nil {
			return err
		}
		return c.remove(cmd, s, path+"/"+args[0], *yes, "Delete the key "+args[0]+"?", "The key is deleted.")
	}
	return cmd
}
