package cli

import (
	"errors"
	"fmt"
	"net/http"

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
		Use:   "cancel FLOW-RUN",
		Short: "Cancel a flow run",
		Long:  `Cancel a flow run. A run that runs becomes Cancelling until its worker has stopped it; others are Cancelled at once.`,
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
	if p.Status != "ACCEPT" && p.Status != "REJECT" || p.State == nil {
		return fmt.Errorf("%w: %s: %s", errState, p.Status, p.Details.Reason)
	}
	answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return c.showFlowRun(cmd, s, answer)
}
