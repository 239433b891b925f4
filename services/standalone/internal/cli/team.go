package cli

import (
	"context"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

type team struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Members     []teamMember `json:"memberships"`
}

type teamMember struct {
	ActorID  string `json:"id"`
	MemberID string `json:"member_id"`
}

var teamHead = []string{"ID", "NAME", "MEMBERS", "DESCRIPTION"}

func teamRow(t team) []string {
	return []string{t.ID, t.Name, strconv.Itoa(len(t.Members)), t.Description}
}

func teamCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{Use: "team", Short: "Manage teams of users and service accounts"},
		teamListCommand, teamCreateCommand, teamDeleteCommand, teamAddCommand, teamRemoveCommand)
}

// teams returns the server, the path of its account and the path of the account's teams.
func (c *connection) teams(ctx context.Context) (s *remote.Server, in, path string, err error) {
	if s, err = c.server(); err != nil {
		return nil, "", "", err
	}
	id, err := account(ctx, s)
	in = "/accounts/" + id
	return s, in, in + "/teams", err
}

// teamOf is teams with the path of the team that an argument identifies.
func (c *connection) teamOf(ctx context.Context, argument string) (s *remote.Server, in, path string, err error) {
	if s, in, path, err = c.teams(ctx); err != nil {
		return nil, "", "", err
	}
	id, err := find(ctx, s, path, "teams", argument)
	return s, in, path + "/" + id, err
}

func teamListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the teams",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, _, path, err := c.teams(cmd.Context())
			if err != nil {
				return err
			}
			all, err := list(cmd.Context(), s, path+"/filter")
			if err != nil {
				return err
			}
			return showAll(c, cmd, all, teamHead, teamRow)
		},
	}
}

func teamCreateCommand(c *connection) *cobra.Command {
	var description string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a team without members",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, path, err := c.teams(cmd.Context())
			if err != nil {
				return err
			}
			body := map[string]any{"name": args[0]}
			if description != "" {
				body["description"] = description
			}
			answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/", body)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, teamHead, teamRow)
		},
	}
	cmd.Flags().StringVarP(&description, "description", "d", "", "the purpose of the team")
	return cmd
}

func teamDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete TEAM",
		Short: "Delete a team and its workspace roles; its members stay",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, _, path, err := c.teamOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return c.remove(cmd, s, path, *yes, "Delete team "+args[0]+" and its roles in workspaces?", "Team "+args[0]+" is deleted.")
	}
	return cmd
}
