package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/standalone/internal/profile"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// workspace is a workspace of the caller, as /me/workspaces lists it.
type workspace struct {
	AccountID string `json:"account_id"`
	Account   string `json:"account_handle"`
	ID        string `json:"workspace_id"`
	Handle    string `json:"workspace_handle"`
	Name      string `json:"workspace_name"`
}

// full is the workspace's name as account/workspace.
func (w workspace) full() string { return w.Account + "/" + w.Handle }

func workspaces(ctx context.Context, s *remote.Server) ([]workspace, error) {
	return remote.Read[[]workspace](ctx, s, http.MethodGet, "/me/workspaces", nil)
}

func loginCommand(version string) *cobra.Command {
	c := &connection{version: version, output: outputTable}
	var flags struct {
		apiURL, profile, workspace string
		keyStdin                   bool
	}
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Store a server, its key and a workspace for later commands",
		Long: `Store a server, its key and a workspace as a profile, and activate the profile.

The key is asked for on a terminal, read from the input with --key-stdin, or taken from ORCH_API_KEY; user:password is
for servers with basic authentication. A server without authentication needs none.`,
		Example: "  orch login --api-url https://orch.example.com/api --workspace acme/data\n  orch login --key-stdin < key.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, profiles, err := profile.Open()
			if err != nil {
				return err
			}
			p := profile.Profile{APIURL: strings.TrimRight(flags.apiURL, "/"), Key: os.Getenv("ORCH_API_KEY")}
			if err := checkAddress(p.APIURL); err != nil {
				return err
			}
			if flags.keyStdin {
				if p.Key, err = ask(cmd, ""); err != nil {
					return err
				}
			}
			if err := c.introduce(cmd, &p, flags.workspace); err != nil {
				return err
			}
			profiles.Profiles[flags.profile], profiles.Active = p, flags.profile
			if err := file.Write(profiles); err != nil {
				return err
			}
			where := p.Workspace
			if where == "" {
				where = "the default workspace"
			}
			c.say(cmd, "Logged in to %s, in %s. The profile is %q.", p.APIURL, where, flags.profile)
			return nil
		},
	}
	cmd.Flags().StringVar(&flags.apiURL, "api-url", defaultAPI, "the address of the API")
	cmd.Flags().StringVar(&flags.profile, "profile", "default", "the name of the profile")
	cmd.Flags().StringVar(&flags.workspace, "workspace", "", "the workspace to work in, as account/workspace")
	cmd.Flags().BoolVar(&flags.keyStdin, "key-stdin", false, "read the key from standard input")
	return cmd
}

// introduce calls the server with a profile's key and chooses the workspace. On a terminal it asks for a key that the
// server requires.
func (c *connection) introduce(cmd *cobra.Command, p *profile.Profile, wanted string) error {
	mine, err := workspaces(cmd.Context(), c.serverOf(*p))
	if remote.IsStatus(err, http.StatusUnauthorized) && p.Key == "" {
		input, isFile := cmd.InOrStdin().(*os.File)
		if !isFile || !telemetry.IsTerminal(input) {
			return errors.New("the server requires a key; pass it with --key-stdin or ORCH_API_KEY")
		}
		if p.Key, err = ask(cmd, "API key: "); err != nil {
			return err
		}
		mine, err = workspaces(cmd.Context(), c.serverOf(*p))
	}
	if remote.IsStatus(err, http.StatusUnauthorized) {
		return errors.New("the server rejected this key")
	}
	if err != nil {
		return err
	}
	if wanted == "" && len(mine) <= 1 {
		if len(mine) == 1 {
			p.AccountID, p.WorkspaceID, p.Workspace = mine[0].AccountID, mine[0].ID, mine[0].full()
		}
		return nil
	}
	chosen, err := choose(mine, wanted)
	if err != nil {
		return err
	}
	p.AccountID, p.WorkspaceID, p.Workspace = chosen.AccountID, chosen.ID, chosen.full()
	return nil
}

// choose finds a workspace by its id, by account/workspace, or by a unique handle.
func choose(mine []workspace, wanted string) (workspace, error) {
	names := make([]string, 0, len(mine))
	var found []workspace
	for _, w := range mine {
		names = append(names, w.full())
		if wanted == w.full() || wanted == w.ID {
			return w, nil
		}
		if wanted == w.Handle {
			found = append(found, w)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if wanted == "" {
		return workspace{}, fmt.Errorf("%w: choose a workspace with --workspace: %s", errArgument, strings.Join(names, ", "))
	}
	return workspace{}, fmt.Errorf("you have no workspace %q; choose from: %s", wanted, strings.Join(names, ", "))
}

func logoutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logout [profile]",
		Short: "Delete the key of the active profile, or of another one",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editProfile(args, func(profiles *profile.Collection, name string) error {
				p, err := profiles.Get(name)
				if err != nil {
					return err
				}
				p.Key = ""
				profiles.Profiles[name] = p
				fmt.Fprintf(cmd.OutOrStdout(), "The key of profile %q is forgotten here. It stays valid until it is deleted: orch api-key delete.\n", name)
				return nil
			})
		},
		ValidArgsFunction: completeProfiles,
	}
	return cmd
}

// editProfile changes the stored profiles. The name is the argument, or the active profile's.
func editProfile(args []string, edit func(profiles *profile.Collection, name string) error) error {
	file, profiles, err := profile.Open()
	if err != nil {
		return err
	}
	name := profiles.Active
	if len(args) > 0 {
		name = args[0]
	}
	if name == "" {
		return errors.New("no profile is active; `orch login` creates one")
	}
	if err := edit(&profiles, name); err != nil {
		return err
	}
	return file.Write(profiles)
}
