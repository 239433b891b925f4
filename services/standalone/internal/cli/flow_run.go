package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/runlist"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// runState is the state of a flow run.
type runState struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// terminal are the types of states that a run does not leave by itself.
var terminal = []string{"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

// name returns the name of the state, "none" for a run without a state.
func (s *runState) name() string {
	if s == nil {
		return "none"
	}
	return s.Name
}

func (s *runState) ended() bool { return s != nil && slices.Contains(terminal, s.Type) }

// flowRunSummary is what the commands read of a flow run; --output json prints the whole record.
type flowRunSummary struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	State    *runState  `json:"state"`
	Start    *time.Time `json:"start_time"`
	Expected *time.Time `json:"expected_start_time"`
	// Runtime includes the time of a run in progress, in seconds.
	Runtime      float64 `json:"estimated_run_time"`
	FlowID       string  `json:"flow_id"`
	DeploymentID string  `json:"deployment_id"`
}

var flowRunHead = []string{"ID", "NAME", "FLOW", "DEPLOYMENT", "STATE", "START", "RUN TIME"}

// showFlowRuns prints flow runs with the names of their flows and deployments.
func (c *connection) showFlowRuns(cmd *cobra.Command, s *remote.Server, runs ...json.RawMessage) error {
	var flowIDs, deploymentIDs []string
	for _, text := range runs {
		run, err := remote.Decode[flowRunSummary](text)
		if err != nil {
			return err
		}
		flowIDs = append(flowIDs, run.FlowID)
		if run.DeploymentID != "" {
			deploymentIDs = append(deploymentIDs, run.DeploymentID)
		}
	}
	var flows, deployments map[string]string
	if c.output != outputJSON { // Without the role to read names, the table has ids.
		flows, _ = namesByID(cmd.Context(), s, s.InWorkspace("/flows"), "flows", flowIDs)
		deployments, _ = namesByID(cmd.Context(), s, s.InWorkspace("/deployments"), "deployments", deploymentIDs)
	}
	row := func(r flowRunSummary) []string {
		return flowRunRow(r, cmp.Or(flows[r.FlowID], r.FlowID), cmp.Or(deployments[r.DeploymentID], r.DeploymentID))
	}
	return showAll(c, cmd, runs, flowRunHead, row)
}

// showFlowRun prints one flow run.
func (c *connection) showFlowRun(cmd *cobra.Command, s *remote.Server, run json.RawMessage) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), run)
	}
	return c.showFlowRuns(cmd, s, run)
}

func flowRunRow(r flowRunSummary, flow, deployment string) []string {
	start, took := "", ""
	switch {
	case r.Start != nil:
		start = r.Start.Format(time.RFC3339)
	case r.Expected != nil:
		start = "expected " + r.Expected.Format(time.RFC3339)
	}
	if r.Runtime > 0 {
		took = time.Duration(r.Runtime * float64(time.Second)).Round(time.Millisecond).String()
	}
	return []string{r.ID, r.Name, flow, deployment, r.State.name(), start, took}
}

func flowRunCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "flow-run", Aliases: []string{"flow-runs", "run"}, Short: "List, inspect, change, cancel and retry flow runs",
		Long: `List, inspect, change, cancel and retry flow runs. Commands accept a flow run's id or its name.`,
	}, flowRunListCommand, flowRunResource.inspectCommand, flowRunLogsCommand, flowRunResource.updateCommand, flowRunCancelCommand, flowRunRetryCommand, flowRunResumeCommand,
		flowRunResource.deleteCommand)
}

func flowRunListCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the last flow runs, or the upcoming ones",
		Long:  `List the flow runs that have started, have ended or are late, the latest first. Each state that --state names includes runs that are still to come.`,
		Example: `  orch flow-run ls --state failed,crashed --flow load-orders
  orch flow-run ls --upcoming
  orch flow-run ls --all --deployment nightly`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	states := flags.StringSlice("state", nil, "flow runs whose state has a type, such as failed; several may be given")
	flow := flags.String("flow", "", "flow runs of a flow, by name")
	deployment := flags.String("deployment", "", "flow runs of a deployment, by name")
	name := flags.String("name", "", "flow runs whose name contains a text")
	from := flags.String("from", "", "flow runs that started at a time or later, such as 2026-03-01T02:00:00Z")
	to := flags.String("to", "", "flow runs that started at a time or earlier")
	upcoming := flags.Bool("upcoming", false, "flow runs that are scheduled and not late, the soonest first")
	all := flags.Bool("all", false, "the upcoming flow runs and below them the last ones, the latest first; --limit bounds each of the two lists")
	cmd.MarkFlagsMutuallyExclusive("state", "upcoming", "all")
	for _, condition := range []string{"name", "from", "to"} {
		cmd.MarkFlagsMutuallyExclusive("all", condition)
	}
	limit := flags.Int("limit", 20, "the maximum number of flow runs, at most 200")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateTypes, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		types, err := parseStateTypes(*states)
		if err != nil {
			return err
		}
		if *limit < 1 || *limit > everyone {
			return fmt.Errorf("%w: --limit must be 1 to %d", errArgument, everyone)
		}
		s, err := c.server()
		if err != nil {
			return err
		}
		related := map[string]any{}
		for kind, name := range map[string]string{"flows": *flow, "deployments": *deployment} {
			if name == "" {
				continue
			}
			if _, err := recordsNamed(cmd.Context(), s, s.InWorkspace("/"+kind), kind, name); err != nil {
				return fmt.Errorf("list flow runs: %w", err)
			}
			related[kind] = map[string]any{"name": map[string]any{"any_": []string{name}}}
		}
		conditions, err := runConditions(*name, *from, *to)
		if err != nil {
			return err
		}
		var runs []json.RawMessage
		more := false
		for i, listed := range runLists(*upcoming, *all) {
			query := listed.Query(related)
			query["limit"] = min(*limit+1, everyone) // One more tells whether there are more.
			if len(types) > 0 {
				query["flow_runs"] = map[string]any{"state": map[string]any{"type": map[string]any{"any_": types}}}
			}
			if len(conditions) > 0 {
				if len(types) == 0 && !*upcoming { // Past has only runs that have started or are late.
					query["flow_runs"] = map[string]any{}
				}
				filter, _ := query["flow_runs"].(map[string]any)
				maps.Copy(filter, conditions)
			}
			found, err := remote.Read[[]json.RawMessage](cmd.Context(), s, http.MethodPost, s.InWorkspace("/flow_runs/filter"), query)
			if err != nil {
				return err
			}
			more = more || len(found) > *limit || len(found) == everyone
			found = found[:min(*limit, len(found))]
			if *all && i == 0 { // The upcoming runs: the soonest stands beside the last one.
				slices.Reverse(found)
			}
			runs = append(runs, found...)
		}
		if err := c.showFlowRuns(cmd, s, runs...); err != nil {
			return err
		}
		if more {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "There may be more flow runs: narrow the list, or raise --limit, at most to %d.\n", everyone)
		}
		return nil
	}
	return cmd
}

// runLists returns the lists of flow runs that flags choose, in their order.
func runLists(upcoming, all bool) []runlist.List {
	switch {
	case all:
		return []runlist.List{runlist.Upcoming(), runlist.Past()}
	case upcoming:
		return []runlist.List{runlist.Upcoming()}
	}
	return []runlist.List{runlist.Past()}
}

// runConditions returns the conditions of flags on flow runs.
func runConditions(name, from, to string) (map[string]any, error) {
	conditions := map[string]any{}
	if name != "" {
		conditions["name"] = map[string]any{"like_": name}
	}
	times := map[string]any{}
	for _, bound := range []struct{ flag, text, operator string }{{"from", from, "after_"}, {"to", to, "before_"}} {
		if bound.text == "" {
			continue
		}
		at, err := timeOf(bound.flag, bound.text)
		if err != nil {
			return nil, err
		}
		times[bound.operator] = at
	}
	if len(times) > 0 {
		conditions["start_time"] = times
	}
	return conditions, nil
}

// stateTypes are the types of states.
var stateTypes = []string{"SCHEDULED", "PENDING", "RUNNING", "PAUSED", "CANCELLING", "COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

// lower returns texts in lower case.
func lower(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ToLower(text)
	}
	return out
}

var flowRunResource = &resource{
	noun: "flow-run", plural: "flow_runs", argument: "FLOW-RUN",
	columns: []column{fieldColumn("ID", "id"), fieldColumn("NAME", "name"), fieldColumn("STATE", "state_name"), fieldColumn("TAGS", "tags")},
	fields: []field{
		{name: "name", flag: "name", usage: "its new name", on: updateOnly},
		{name: "tags", flag: "tag", usage: "a tag", kind: listField, on: updateOnly},
	},
	path: foundIn("/flow_runs", "flow_runs"), warning: "with its task runs and logs",
}
