package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// maintenanceState is the server's maintenance.
type maintenanceState struct {
	Enabled bool       `json:"enabled"`
	Reason  string     `json:"reason"`
	Since   *time.Time `json:"since"`
}

var maintenanceHead = []string{"MAINTENANCE", "SINCE", "REASON"}

func maintenanceRow(m maintenanceState) []string {
	if !m.Enabled || m.Since == nil {
		return []string{"off", "", ""}
	}
	return []string{"on", m.Since.Format(time.RFC3339), m.Reason}
}

func maintenanceCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "maintenance", Short: "Let clients wait while you upgrade or restore the server",
		Long: `Let clients wait while you upgrade or restore the server. During a maintenance every gateway answers API requests with 503, a Retry-After
and "Prefect-Maintenance: true": Prefect clients of version 3.3 and later then wait for its end. Webhooks are accepted.
A maintenance survives restarts. Only administrators of the server may begin and end it:

  orch maintenance on --reason "upgrade to 1.4" && … && orch maintenance off`,
	}, maintenanceOnCommand, maintenanceOffCommand, maintenanceStatusCommand)
}

func maintenanceOnCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{Use: "on", Short: "Begin the maintenance", Args: cobra.NoArgs}
	reason := cmd.Flags().String("reason", "", "what clients and operators read")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.callMaintenance(cmd, http.MethodPut, map[string]any{"enabled": true, "reason": *reason})
	}
	return cmd
}

func maintenanceOffCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{Use: "off", Short: "End the maintenance", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.callMaintenance(cmd, http.MethodPut, map[string]any{"enabled": false})
	}
	return cmd
}

func maintenanceStatusCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show whether the server is in maintenance", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.callMaintenance(cmd, http.MethodGet, nil) }
	return cmd
}

// callMaintenance reads or changes the maintenance, and prints it.
func (c *connection) callMaintenance(cmd *cobra.Command, method string, body any) error {
	s, err := c.server()
	if err != nil {
		return err
	}
	answer, err := s.Call(cmd.Context(), method, "/admin/maintenance", body)
	if err != nil {
		return fmt.Errorf("%s the maintenance: %w", map[string]string{http.MethodGet: "read", http.MethodPut: "change"}[method], err)
	}
	return show(c, cmd, answer, maintenanceHead, maintenanceRow)
}
