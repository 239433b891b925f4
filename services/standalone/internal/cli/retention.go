package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// retentionPath is the path of a workspace's retention policy.
const retentionPath = "/admin/retention"

// retentionRule is a rule of a retention policy.
type retentionRule struct {
	Kind   string   `json:"kind"`
	States []string `json:"states,omitempty"`
	// MaxAge is in seconds.
	MaxAge float64 `json:"max_age"`
}

// retentionPolicy is what the commands read of a policy.
type retentionPolicy struct {
	Rules []retentionRule `json:"rules"`
}

// retentionStep is a step of a plan or of a run.
type retentionStep struct {
	Rule      retentionRule `json:"rule"`
	Before    time.Time     `json:"before"`
	Documents int64         `json:"documents"`
	More      bool          `json:"more"`
	Deleted   int64         `json:"deleted"`
}

// cells are the columns of a rule.
func (r retentionRule) cells() []string {
	states := "-"
	if len(r.States) > 0 {
		states = strings.Join(r.States, ",")
	}
	return []string{r.Kind, states, r.age()}
}

// age is the maximum age in days where it is a number of days.
func (r retentionRule) age() string {
	age := time.Duration(r.MaxAge * float64(time.Second))
	if day := 24 * time.Hour; age%day == 0 {
		return strconv.FormatInt(int64(age/day), 10) + "d"
	}
	return age.String()
}

func retentionCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "retention", Short: "Delete old runs, logs, events, artifacts and webhook deliveries of a workspace",
		Long: `Delete old documents of a workspace by the rules of its retention policy. Without rules nothing is deleted by age.

The server deletes in the background what the rules select; "orch retention run" does it now.`,
	}, retentionShowCommand, retentionSetCommand, retentionClearCommand, retentionPlanCommand, retentionRunCommand)
}

func retentionShowCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the rules of the workspace",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, s.InWorkspace(retentionPath), nil)
			if err != nil {
				return err
			}
			return c.showRetention(cmd, answer)
		},
	}
}

// showRetention prints a policy.
func (c *connection) showRetention(cmd *cobra.Command, answer json.RawMessage) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	policy, err := remote.Decode[retentionPolicy](answer)
	if err != nil {
		return err
	}
	if len(policy.Rules) == 0 {
		c.say(cmd, "The workspace has no retention rules; nothing is deleted by age.")
		return nil
	}
	return printTable(c, cmd, tableForm[retentionRule]{head: []string{"KIND", "STATES", "MAX AGE"}, row: retentionRule.cells}, policy.Rules)
}

// retentionRules parses rules such as "flow_runs=90d" and "flow_runs:FAILED,CRASHED=180d".
func retentionRules(args []string) ([]retentionRule, error) {
	rules := make([]retentionRule, 0, len(args))
	for _, arg := range args {
		selection, age, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, fmt.Errorf("%w: %q is not a rule such as flow_runs=90d or flow_runs:FAILED=180d", errArgument, arg)
		}
		span, err := parseSpan(age)
		if err != nil {
			return nil, err
		}
		kind, states, _ := strings.Cut(selection, ":")
		rule := retentionRule{Kind: strings.ReplaceAll(kind, "-", "_"), MaxAge: span.Seconds()}
		if states != "" {
			rule.States = strings.Split(strings.ToUpper(states), ",")
		}
		rules = append(rules, rule)
	}
	return rules, nil
}
