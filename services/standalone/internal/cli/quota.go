package cli

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// accountQuota is a quota of an account with its use.
type accountQuota struct {
	Name  string `json:"name"`
	Limit *int64 `json:"limit"`
	Used  *int64 `json:"used"`
}

var quotaHead = []string{"QUOTA", "LIMIT", "USED"}

func quotaRow(q accountQuota) []string {
	limit, used := "no limit", "-"
	if q.Limit != nil {
		limit = strconv.FormatInt(*q.Limit, 10)
	}
	if q.Used != nil {
		used = strconv.FormatInt(*q.Used, 10)
	}
	return []string{q.Name, limit, used}
}

func quotaCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{Use: "quota", Short: "Show and set what an account may have and send at most"},
		quotaListCommand, quotaSetCommand)
}

// quotasOf returns the server and the path of the quotas of an account, by default that of the workspace.
func (c *connection) quotasOf(ctx context.Context, id string) (s *remote.Server, path string, err error) {
	if s, err = c.server(); err != nil {
		return nil, "", err
	}
	if id == "" {
		id, err = account(ctx, s)
	}
	return s, "/accounts/" + id + "/quotas", err
}

func accountFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("account", "", "the id of the account (default that of the workspace)")
}

func quotaListCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the quotas of an account and what it uses of them",
		Args:  cobra.NoArgs,
	}
	id := accountFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, path, err := c.quotasOf(cmd.Context(), *id)
		if err != nil {
			return err
		}
		answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		return show(c, cmd, answer, quotaHead, quotaRow)
	}
	return cmd
}

func quotaSetCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set QUOTA=LIMIT...",
		Short: "Set quotas of an account, as an administrator of the server",
		Long: `Set quotas of an account: webhooks, automations, deployments, blocks, api_keys, events_per_second and stored_bytes. A limit is a number,
"none" for no limit, or "default" for that of the server. Only administrators of the server may set quotas:

  orch quota set webhooks=20 events_per_second=100 blocks=default`,
		Args: cobra.MinimumNArgs(1),
	}
	id := accountFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limits, err := quotaLimits(args)
		if err != nil {
			return err
		}
		s, path, err := c.quotasOf(cmd.Context(), *id)
		if err != nil {
			return err
		}
		if _, err := s.Call(cmd.Context(), http.MethodPatch, path, limits); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "The quotas are set.")
		return err
	}
	return cmd
}

// quotaLimits reads arguments of the form QUOTA=LIMIT. The server checks the names.
func quotaLimits(args []string) (map[string]any, error) {
	limits := map[string]any{}
	for _, argument := range args {
		name, limit, found := strings.Cut(argument, "=")
		switch {
		case !found || name == "":
			return nil, fmt.Errorf("%w: %q is not of the form QUOTA=LIMIT", errArgument, argument)
		case limit == "default":
			limits[name] = nil
		case limit == "none":
			limits[name] = 0
		default:
			n, err := strconv.ParseInt(limit, 10, 64)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%w: the limit %q is not a positive number, none or default", errArgument, limit)
			}
			limits[name] = n
		}
	}
	return limits, nil
}
