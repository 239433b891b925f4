package cli

import (
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// webhookIssue is a cause of failures.
type webhookIssue struct {
	Status   int       `json:"status"`
	Reason   *string   `json:"reason"`
	Error    string    `json:"error"`
	Line     *int      `json:"line"`
	Column   *int      `json:"column"`
	Count    int       `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Delivery string    `json:"delivery_id"`
}

func webhookIssueRow(i webhookIssue) []string {
	reason := ""
	if i.Reason != nil {
		reason = *i.Reason
	}
	return []string{
		strconv.Itoa(i.Count), strconv.Itoa(i.Status), reason, i.First.Format(time.RFC3339), i.Last.Format(time.RFC3339), i.Delivery,
		placed(i.Error, i.Line, i.Column),
	}
}

func webhookIssuesCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "issues WEBHOOK",
		Short: "Group the failures of a webhook by their cause",
		Long: `Group the failures in a webhook's delivery log by their cause, the latest first. The sample is the last delivery of the
cause: orch webhook deliveries WEBHOOK SAMPLE explains it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.webhookOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/issues", nil)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, []string{"COUNT", "STATUS", "REASON", "FIRST", "LAST", "SAMPLE", "ERROR"}, webhookIssueRow)
		},
	}
}
