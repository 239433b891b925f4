package cli

import (
	"net/http"

	"github.com/spf13/cobra"
)

func retentionSetCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set KIND[:STATE,...]=AGE...",
		Short: "Replace the rules of the workspace",
		Long: `Replace the rules of the workspace. A rule names a kind of documents and the maximum age, for runs also terminal states:

  orch retention set flow_runs=90d flow_runs:FAILED,CRASHED=180d logs=30d events=14d

The kinds are flow_runs, task_runs (of no flow run), artifacts, logs, events and webhook_deliveries. A rule without states
applies to the terminal states that no other rule of the kind names. "orch retention plan" shows what rules would delete.`,
		Args: cobra.MinimumNArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rules, err := retentionRules(args)
		if err != nil {
			return err
		}
		return c.replaceRetention(cmd, rules, *yes, "Replace the rules? The server deletes what they select.")
	}
	return cmd
}

func retentionClearCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove all rules of the workspace",
		Args:  cobra.NoArgs,
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.replaceRetention(cmd, []retentionRule{}, *yes, "Remove all retention rules?")
	}
	return cmd
}

func (c *connection) replaceRetention(cmd *cobra.Command, rules []retentionRule, yes bool, question string) error {
	s, err := c.server()
	if err != nil {
		return err
	}
	if err := confirm(cmd, yes, question); err != nil {
		return err
	}
	answer, err := s.Call(cmd.Context(), http.MethodPut, s.InWorkspace(retentionPath), map[string]any{"rules": rules})
	if err != nil {
		return err
	}
	return c.showRetention(cmd, answer)
}
