package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/runlist"
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
	Pool   string   `json:"work_pool_name"`

	Schedules []deploymentSchedule `json:"schedules"`
}

// deploymentSchedule is a schedule of a deployment; one of its kinds is set.
type deploymentSchedule struct {
	Active   bool `json:"active"`
	Schedule struct {
		Cron     string  `json:"cron"`
		Interval float64 `json:"interval"` // In seconds.
		RRule    string  `json:"rrule"`
	} `json:"schedule"`
}

// String describes the schedule in a few words.
func (s deploymentSchedule) String() string {
	text := cmp.Or(s.Schedule.Cron, s.Schedule.RRule)
	if s.Schedule.Interval > 0 {
		text = "every " + time.Duration(s.Schedule.Interval*float64(time.Second)).String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-len("0s")]
			}
		}
	}
	if !s.Active {
		text += " (off)"
	}
	return text
}

var deploymentHead = []string{"ID", "FLOW", "NAME", "SCHEDULE", "WORK POOL", "NEXT RUN", "PAUSED", "STATUS", "TAGS"}

// showDeployments prints deployments with the names of their flows and the times of their next runs.
func (c *connection) showDeployments(cmd *cobra.Command, s *remote.Server, deployments ...json.RawMessage) error {
	var ids, flowIDs []string
	for _, text := range deployments {
		d, err := remote.Decode[deploymentSummary](text)
		if err != nil {
			return err
		}
		ids, flowIDs = append(ids, d.ID), append(flowIDs, d.FlowID)
	}
	var flows, next map[string]string
	if c.output != "json" { // Without the role to read flows and runs, the table has ids and no times.
		flows, _ = namesByID(cmd.Context(), s, s.InWorkspace("/flows"), "flows", flowIDs)
		next, _ = nextRuns(cmd.Context(), s, ids)
	}
	return showAll(c, cmd, deployments, deploymentHead, func(d deploymentSummary) []string {
		var schedules []string
		for _, schedule := range d.Schedules {
			schedules = append(schedules, schedule.String())
		}
		return []string{d.ID, cmp.Or(flows[d.FlowID], d.FlowID), d.Name, strings.Join(schedules, "; "), d.Pool, next[d.ID], strconv.FormatBool(d.Paused), d.Status, strings.Join(d.Tags, ", ")}
	})
}

// nextRuns returns the time of the soonest upcoming run of each deployment that has one. A page has the runs of a few deployments if
// they run often, so it asks again for the others.
func nextRuns(ctx context.Context, s *remote.Server, ids []string) (map[string]string, error) {
	next := map[string]string{}
	for len(ids) > 0 {
		page := ids[:min(len(ids), everyone)]
		query := runlist.Upcoming().Query(map[string]any{"deployments": map[string]any{"id": map[string]any{"any_": page}}})
		query["limit"] = everyone
		runs, err := remote.Read[[]flowRunSummary](ctx, s, http.MethodPost, s.InWorkspace("/flow_runs/filter"), query)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if next[run.DeploymentID] == "" && run.Expected != nil {
				next[run.DeploymentID] = run.Expected.Format(time.RFC3339)
			}
		}
		full := len(runs) == everyone
		remaining := slices.DeleteFunc(slices.Clone(page), func(id string) bool { return !full || next[id] != "" })
		if len(remaining) == len(page) {
			remaining = nil // Their runs have no time.
		}
		ids = append(remaining, ids[len(page):]...)
	}
	return next, nil
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
	id, err := deploymentID(ctx, s, argument)
	if err != nil {
		return nil, "", fmt.Errorf("find the deployment: %w", err)
	}
	return s, s.InWorkspace("/deployments/" + id), nil
}

// deploymentID returns the id of the deployment that an id, a name or FLOW/DEPLOYMENT identifies.
func deploymentID(ctx context.Context, s *remote.Server, argument string) (string, error) {
	flow, name, both := strings.Cut(argument, "/")
	if !both {
		return find(ctx, s, s.InWorkspace("/deployments"), "deployments", argument)
	}
	return idAt(ctx, s, "/deployments/name/"+url.PathEscape(flow)+"/"+url.PathEscape(name))
}

// deploymentName returns FLOW/DEPLOYMENT.
func deploymentName(ctx context.Context, s *remote.Server, id string) (string, error) {
	d, err := remote.Read[deploymentSummary](ctx, s, http.MethodGet, s.InWorkspace("/deployments/"+id), nil)
	if err != nil {
		return "", err
	}
	flow, err := nameAt(ctx, s, "/flows/"+d.FlowID)
	return flow + "/" + d.Name, err
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
			return c.showDeployments(cmd, s, all...)
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
			if c.output == "json" {
				return printJSON(cmd.OutOrStdout(), answer)
			}
			return c.showDeployments(cmd, s, answer)
		},
	}
}
