package cli

import (
	"errors"
	"fmt"
	"net/http"
	"path"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// errState means that the server did not accept the proposed state.
var errState = errors.New("the server did not accept the state")

// proposal is the server's response to a proposed state.
type proposal struct {
	Status  string    `json:"status"`
	State   *runState `json:"state"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"details"`
}

func flowRunCancelCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel [FLOW-RUN]",
		Short: "Cancel a flow run, or the late runs of a deployment",
		Long: `Cancel a flow run, or with --late the runs of a deployment that are late. A run that runs becomes Cancelling until its
worker has stopped it; others are Cancelled at once.`,
		Example: "  orch flow-run cancel --late nightly",
		Args:    cobra.MaximumNArgs(1),
	}
	deployment := cmd.Flags().String("late", "", "the deployment whose late runs are cancelled, by id, name or FLOW/DEPLOYMENT")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (*deployment != "") {
			return fmt.Errorf("%w: either a flow run or --late is required", errArgument)
		}
		if *deployment != "" {
			return c.cancelLate(cmd, *deployment, *yes)
		}
		s, path, err := flowRunResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		run, err := remote.Read[flowRunSummary](cmd.Context(), s, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		if run.State.ended() {
			return fmt.Errorf("flow run %s ended already: it is %s", run.Name, run.State.Name)
		}
		if err := confirm(cmd, *yes, "Cancel flow run "+run.Name+"?"); err != nil {
			return err
		}
		return c.propose(cmd, s, path, map[string]any{"type": "CANCELLING", "message": "Cancelled by orch flow-run cancel."})
	}
	return cmd
}

// cancelLate cancels the late runs of a deployment.
func (c *connection) cancelLate(cmd *cobra.Command, deployment string, yes bool) error {
	s, found, err := deploymentResource.locate(cmd.Context(), c, deployment)
	if err != nil {
		return err
	}
	if err := confirm(cmd, yes, "Cancel the late runs of "+deployment+"?"); err != nil {
		return err
	}
	cancelled := 0
	for {
		response, err := remote.Read[struct {
			Results []proposal `json:"results"`
		}](cmd.Context(), s, http.MethodPost, s.InWorkspace("/flow_runs/bulk_set_state"), map[string]any{
			"flow_runs": map[string]any{
				"deployment_id": map[string]any{"any_": []string{path.Base(found)}},
				"state":         map[string]any{"name": map[string]any{"any_": []string{"Late"}}},
			},
			"state": map[string]any{"type": "CANCELLED", "message": "Cancelled by orch flow-run cancel."},
		})
		if err != nil {
			return fmt.Errorf("cancel the late runs: %w", err)
		}
		accepted := 0
		for _, one := range response.Results {
			if one.Status == "ACCEPT" {
				accepted++
			}
		}
		if cancelled += accepted; accepted == 0 {
			c.say(cmd, "Cancelled %d late runs.", cancelled)
			return nil
		}
	}
}

func flowRunResumeCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume FLOW-RUN",
		Short: "Resume a paused flow run, with the input for which it waits",
		Example: `  orch flow-run resume release --input approved=true
  orch flow-run resume release`,
		Args: cobra.ExactArgs(1),
	}
	inputs := cmd.Flags().StringArray("input", nil, "a field of the input, as NAME=JSON; a value that is not JSON is a text; several may be given")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		values, err := readObject("input", *inputs)
		if err != nil {
			return err
		}
		s, path, err := flowRunResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		body := map[string]any{}
		if len(values) > 0 {
			body["run_input"] = values
		}
		p, err := remote.Read[proposal](cmd.Context(), s, http.MethodPost, path+"/resume", body)
		if err != nil {
			return fmt.Errorf("resume the flow run: %w", err)
		}
		return c.showProposed(cmd, s, path, p)
	}
	return cmd
}

func flowRunRetryCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "retry FLOW-RUN",
		Short: "Schedule a flow run again that failed, crashed or was cancelled",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := flowRunResource.locate(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			run, err := remote.Read[flowRunSummary](cmd.Context(), s, http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			if !run.State.ended() {
				return fmt.Errorf("flow run %s has not ended; `orch flow-run cancel` ends it", run.Name)
			}
			return c.propose(cmd, s, path, map[string]any{"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retried by orch flow-run retry."})
		},
	}
}

// propose sets the state of a flow run and shows the run.
func (c *connection) propose(cmd *cobra.Command, s *remote.Server, path string, state map[string]any) error {
	p, err := remote.Read[proposal](cmd.Context(), s, http.MethodPost, path+"/set_state", map[string]any{"state": state})
	if err != nil {
		return err
	}
	return c.showProposed(cmd, s, path, p)
}

// showProposed shows the run after a decision on its state, or reports the refusal.
func (c *connection) showProposed(cmd *cobra.Command, s *remote.Server, path string, p proposal) error {
	if p.Status != "ACCEPT" && p.Status != "REJECT" || p.State == nil {
		return fmt.Errorf("%w: %s: %s", errState, p.Status, p.Details.Reason)
	}
	answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return c.showFlowRun(cmd, s, answer)
}
