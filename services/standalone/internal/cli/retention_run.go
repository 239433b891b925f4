package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func retentionPlanCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "plan [KIND[:STATE,...]=AGE...]",
		Short: "Show what the rules would delete now, or what other rules would",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			query := map[string]any{}
			if len(args) > 0 {
				if query["rules"], err = retentionRules(args); err != nil {
					return err
				}
			}
			answer, err := s.Call(cmd.Context(), http.MethodPost, s.InWorkspace(retentionPath+"/plan"), query)
			if err != nil {
				return err
			}
			return c.showRetentionSteps(cmd, answer, "DOCUMENTS", func(step retentionStep) string {
				count := strconv.FormatInt(step.Documents, 10)
				if step.More {
					return "more than " + count
				}
				return count
			})
		},
	}
}

// showRetentionSteps prints the steps of a plan or of a run.
func (c *connection) showRetentionSteps(cmd *cobra.Command, answer json.RawMessage, head string, count func(retentionStep) string) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	result, err := remote.Decode[struct{ Steps []retentionStep }](answer)
	if err != nil {
		return err
	}
	if len(result.Steps) == 0 {
		c.say(cmd, "The workspace has no retention rules; nothing is deleted by age.")
		return nil
	}
	return printTable(c, cmd, tableForm[retentionStep]{head: []string{"KIND", "STATES", "MAX AGE", "BEFORE", head}, row: func(step retentionStep) []string {
		return append(step.Rule.cells(), step.Before.Format(time.RFC3339), count(step))
	}}, result.Steps)
}

func retentionRunCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Delete what the rules select now, until nothing is left",
		Args:  cobra.NoArgs,
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		if err := confirm(cmd, *yes, "Delete the expired documents of the workspace?"); err != nil {
			return err
		}
		var total retentionRun
		for !total.Complete {
			part, err := remote.Read[retentionRun](cmd.Context(), s, http.MethodPost, s.InWorkspace(retentionPath+"/run"), nil)
			if err != nil {
				return err
			}
			if deleted := total.add(part); !total.Complete {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d documents are deleted, and more are expired.\n", deleted)
			}
		}
		answer, err := json.Marshal(total)
		if err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
		return c.showRetentionSteps(cmd, answer, "DELETED", func(step retentionStep) string { return strconv.FormatInt(step.Deleted, 10) })
	}
	return cmd
}

// retentionRun is the response of a run.
type retentionRun struct {
	Steps    []retentionRunStep `json:"steps"`
	Complete bool               `json:"complete"`
}

// retentionRunStep is a step of a run.
type retentionRunStep struct {
	Rule    retentionRule `json:"rule"`
	Before  time.Time     `json:"before"`
	Deleted int64         `json:"deleted"`
}

// add adds the next part of a run, and returns the number of documents that were deleted so far. The counts begin again when
// the rules changed meanwhile.
func (r *retentionRun) add(part retentionRun) (deleted int64) {
	if len(part.Steps) == len(r.Steps) {
		for i := range part.Steps {
			part.Steps[i].Deleted += r.Steps[i].Deleted
		}
	}
	*r = part
	for _, step := range r.Steps {
		deleted += step.Deleted
	}
	return deleted
}
