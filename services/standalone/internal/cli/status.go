package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/profile"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// errNotReady means that the server answers and cannot serve.
var errNotReady = errors.New("the server is not ready")

// serverStatus is what `orch status` prints.
type serverStatus struct {
	API        string          `json:"api"`
	Profile    string          `json:"profile"`
	Workspace  string          `json:"workspace"`
	Version    string          `json:"server_version"`
	Client     string          `json:"client_version"`
	Ready      bool            `json:"ready"`
	Reason     string          `json:"reason"`
	WorkPools  map[string]int  `json:"work_pools"`
	LastFailed json.RawMessage `json:"failed_flow_runs"`
}

func statusCommand(version string) *cobra.Command {
	return callCommand(version, &cobra.Command{
		Use: "status", Short: "Show whether the server is ready, and what it serves",
		Long: `Show the server of the profile, whether it is ready, and the states of its work pools. The command exits with 1 unless the
server is ready.`,
		Args: cobra.NoArgs,
	}, func(c *connection, cmd *cobra.Command) error {
		p, err := c.settings()
		if err != nil {
			return err
		}
		s := c.serverOf(p)
		status := serverStatus{API: s.API, Profile: c.activeProfile(), Workspace: cmp.Or(p.Workspace, "default"), Client: c.version, WorkPools: map[string]int{}}
		if status.Version, err = remote.Read[string](cmd.Context(), s, http.MethodGet, s.InWorkspace("/admin/version"), nil); err != nil {
			return err
		}
		_, ready := s.Call(cmd.Context(), http.MethodGet, "/ready", nil)
		if status.Ready = ready == nil; !status.Ready {
			status.Reason = ready.Error()
		}
		// A key without the scopes for them leaves out the rest.
		pools, _ := list(cmd.Context(), s, s.InWorkspace("/work_pools/filter"))
		for _, text := range pools {
			if pool, err := decodeRecord(text); err == nil {
				status.WorkPools[plain(pool["status"])]++
			}
		}
		status.LastFailed, _ = s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/flow_runs/count"), map[string]any{
			"flow_runs": map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{"FAILED", "CRASHED"}}}},
		})
		text, err := json.Marshal(status)
		if err != nil {
			return fmt.Errorf("print the status: %w", err)
		}
		if err := c.inspect(cmd, text); err != nil {
			return err
		}
		if !status.Ready {
			return errNotReady
		}
		return nil
	})
}

func whoamiCommand(version string) *cobra.Command {
	return callCommand(version, &cobra.Command{
		Use: "whoami", Short: "Show the user or service account whose key the profile has, and the workspace", Args: cobra.NoArgs,
	}, func(c *connection, cmd *cobra.Command) error {
		p, err := c.settings()
		if err != nil {
			return err
		}
		s := c.serverOf(p)
		answer, err := s.Call(cmd.Context(), http.MethodGet, "/me/", nil)
		if err != nil {
			return err
		}
		me, err := decodeRecord(answer)
		if err != nil {
			return err
		}
		me["api"], me["profile"], me["workspace"] = s.API, c.activeProfile(), cmp.Or(p.Workspace, "default")
		if answer, err = json.Marshal(me); err != nil {
			return fmt.Errorf("print the user: %w", err)
		}
		return c.inspect(cmd, answer)
	})
}

// callCommand builds a command that calls a server and has no subcommands.
func callCommand(version string, cmd *cobra.Command, run func(*connection, *cobra.Command) error) *cobra.Command {
	c := connect(version, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(c, cmd) }
	return cmd
}

// activeProfile returns the name of the profile that commands use; empty for none.
func (c *connection) activeProfile() string {
	_, profiles, err := profile.Open()
	if err != nil {
		return ""
	}
	return cmp.Or(c.profile, os.Getenv("ORCH_PROFILE"), profiles.Active)
}
