package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// tailOverlap is how far back each look goes: deliveries are recorded a moment after they are answered, and not in order.
const tailOverlap = 10 * time.Second

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
	begin := time.Now().UTC()
	seen := map[string]time.Time{}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	c.say(cmd, "%-24s  %s  %s", "RECEIVED", "STATUS", "RESULT")
	for {
		since := time.Now().UTC().Add(-tailOverlap)
		if since.Before(begin) {
			since = begin
		}
		criteria["received"] = map[string]any{"after_": since}
		page, err := remote.Read[[]json.RawMessage](cmd.Context(), s, http.MethodPost, path+"/deliveries/filter", map[string]any{
			"deliveries": criteria, "sort": "RECEIVED_ASC", "limit": everyone,
		})
		switch {
		case cmd.Context().Err() != nil:
			return nil // Interrupted, as it must be.
		case err != nil:
			return err
		}
		for id, at := range seen {
			if at.Before(since) {
				delete(seen, id)
			}
		}
		for _, text := range page {
			d, err := remote.Decode[delivery](text)
			if err != nil {
				return err
			}
			if _, ok := seen[d.ID]; ok {
				continue
			}
			seen[d.ID] = d.Received
			if c.output == "json" {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
				continue
			}
			row := deliveryRow(d)
			fmt.Fprintf(cmd.OutOrStdout(), "%-24s  %s     %s\n", row[1], row[2], cell(row[6], cmd.OutOrStdout()))
		}
		select {
		case <-ticker.C:
		case <-cmd.Context().Done():
			return nil
		}
	}
}
