package cli

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/profile"
)

var workspaceHead = []string{"ID", "WORKSPACE", "NAME"}

func workspaceRow(w workspace) []string { return []string{w.ID, w.full(), w.Name} }

func workspaceCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{Use: "workspace", Short: "List, create, choose and delete workspaces"},
		workspaceListCommand, workspaceCreateCommand, workspaceUseCommand, workspaceGrantCommand, workspaceRevokeCommand, workspaceDeleteCommand)
}

func workspaceListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the workspaces that you have access to",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, "/me/workspaces", nil)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, workspaceHead, workspaceRow)
		},
	}
}

func workspaceCreateCommand(c *connection) *cobra.Command {
	var description, handle string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a workspace in your account",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			in, err := account(cmd.Context(), s)
			if err != nil {
				return err
			}
			body := map[string]any{"name": args[0], "description": description}
			if handle != "" {
				body["handle"] = handle
			}
			answer, err := s.Call(cmd.Context(), http.MethodPost, "/accounts/"+in+"/workspaces/", body)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, []string{"ID", "HANDLE", "NAME"}, func(w struct{ ID, Handle, Name string }) []string {
				return []string{w.ID, w.Handle, w.Name}
			})
		},
	}
	cmd.Flags().StringVarP(&description, "description", "d", "", "the purpose of the workspace")
	cmd.Flags().StringVar(&handle, "handle", "", "its name in paths (default: derived from the name)")
	return cmd
}

func workspaceUseCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "use WORKSPACE",
		Short: "Switch the active profile to another workspace: its id, account/workspace, or its handle",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			if c.profile != "" {
				names = []string{c.profile}
			}
			return editProfile(names, func(profiles *profile.Collection, name string) error {
				p, err := profiles.Get(name)
				if err != nil {
					return err
				}
				mine, err := workspaces(cmd.Context(), c.serverOf(p))
				if err != nil {
					return err
				}
				w, err := choose(mine, strings.TrimSpace(args[0]))
				if err != nil {
					return err
				}
				p.AccountID, p.WorkspaceID, p.Workspace = w.AccountID, w.ID, w.full()
				profiles.Profiles[name] = p
				c.say(cmd, "Profile %q works in %s now.", name, w.full())
				return nil
			})
		},
	}
}

func workspaceDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete WORKSPACE",
		Short: "Delete a workspace with everything in it",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		mine, err := workspaces(cmd.Context(), s)
		if err != nil {
			return err
		}
		w, err := choose(mine, args[0])
		if err != nil {
			return err
		}
		return c.remove(cmd, s, "/accounts/"+w.AccountID+"/workspaces/"+w.ID, *yes,
			"Delete workspace "+w.full()+" with all its flows, runs, events and webhooks?", "Workspace "+w.full()+" is deleted.")
	}
	return cmd
}
