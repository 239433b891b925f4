package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// deploymentSummary is what the commands read of a deployment; --output json prints the whole record.
type deploymentSummary struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	FlowID string   `json:"flow_id"`
	Paused bool     `json:"paused"`
	Status string   `json:"status"`
	Tags   []string `json:"tags"`
}

var deploymentHead = []string{"ID", "NAME", "PAUSED", "STATUS", "TAGS"}

func deploymentRow(d deploymentSummary) []string {
	return []string{d.ID, d.Name, strconv.FormatBool(d.Paused), d.Status, strings.Join(d.Tags, ", ")}
}

func deploymentCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "deployment", Aliases: []string{"deployments"}, Short: "List, run, pause and resume deployments",
		Long: `List, run, pause and resume deployments. Commands accept a deployment's id, its name, or FLOW/DEPLOYMENT.`,
	}, deploymentListCommand, deploymentRunCommand, deploymentPauseCommand, deploymentResumeCommand)
}

// deploymentOf returns the server and the path of the deployment that an argument identifies.
func (c *connection) deploymentOf(ctx context.Context, argument string) (*remote.Server, string, error) {
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	flow, name, both := strings.Cut(argument, "/")
	if _, err := uuid.Parse(argument); err == nil || !both {
		id, err := find(ctx, s, s.InWorkspace("/deployments"), "deployments", argument)
		if err != nil {
			return nil, "", fmt.Errorf("find the deployment: %w", err)
		}
		return s, s.InWorkspace("/deployments/" + id), nil
	}
	found, err := remote.Read[deploymentSummary](ctx, s, http.MethodGet,
		s.InWorkspace("/deployments/name/"+url.PathEscape(flow)+"/"+url.PathEscape(name)), nil)
	if err != nil {
		return nil, "", fmt.Errorf("find the deployment: %w", err)
	}
	return s, s.InWorkspace("/deployments/" + found.ID), nil
}

func deploymentListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the deployments",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			all, err := list(cmd.Context(), s, s.InWorkspace("/deployments/filter"))
			if err != nil {
				return err
			}
			return showAll(c, cmd, all, deploymentHead, deploymentRow)
		},
	}
}

func deploymentPauseCommand(c *connection) *cobra.Command {
	return c.deploymentSwitch("pause", "Pause a deployment: its schedules create no runs")
}

func deploymentResumeCommand(c *connection) *cobra.Command {
	return c.deploymentSwitch("resume", "Resume a paused deployment")
}

// deploymentSwitch returns the command that pauses or resumes a deployment.
func (c *connection) deploymentSwitch(verb, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " DEPLOYMENT",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.deploymentOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if _, err := s.Call(cmd.Context(), http.MethodPost, path+"/"+verb+"_deployment", nil); err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, deploymentHead, deploymentRow)
		},
	}
}
