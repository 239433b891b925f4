package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// tailInterval is the default polling interval.
const tailInterval = time.Second

func webhookTailCommand(c *connection) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "tail WEBHOOK",
		Short: "Show what a webhook receives, as it comes, until interrupted",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if every <= 0 {
				return fmt.Errorf("%w: --every must be positive", errArgument)
			}
			s, path, err := c.webhookOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.tail(cmd, s, path, map[string]any{}, every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", tailInterval, "the polling interval")
	return cmd
}

// tail prints each delivery that matches the criteria once: a line each, or an object each with --output json.
func (c *connection) tail(cmd *cobra.Command, s *remote.Server, path string, criteria map[string]any, every time.Duration) error {
	c.say(cmd, "%-24s  %s  %s", "RECEIVED", "STATUS", "RESULT")
	return c.follow(cmd, time.Now().UTC(), every, stream{
		fetch: func(since time.Time) ([]json.RawMessage, error) {
			criteria["received"] = map[string]any{"after_": since}
			return listAll(cmd.Context(), s, path+"/deliveries/filter", map[string]any{"deliveries": criteria, "sort": "RECEIVED_ASC"})
		},
		read: func(text json.RawMessage) (string, time.Time, string, error) {
			d, err := remote.Decode[delivery](text)
			return d.ID, d.Received, deliveryLine(d, cmd.OutOrStdout()), err
		},
	})
}

// deliveryLine is the line of a delivery that a command follows.
func deliveryLine(d delivery, out io.Writer) string {
	row := deliveryRow(d)
	line := fmt.Sprintf("%-24s  %s     %s", row[1], row[2], cell(row[6], out))
	if d.Status >= http.StatusBadRequest {
		line = colored(out, red, line)
	}
	return line
}
