package cli

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func webhookReplayCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay WEBHOOK [DELIVERY...]",
		Short: "Process deliveries again, with the current template",
		Long: `Process deliveries again, with the current template: those that are named, or with --failed all that were refused and were
not replayed with success since.`,
		Example: "  orch webhook replay pushes --failed --since 24h",
		Args:    cobra.MinimumNArgs(1),
	}
	filter := newLimitedDeliveryFilter(cmd, 200)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && !filter.failed {
			return fmt.Errorf("%w: name the deliveries, or give --failed", errArgument)
		}
		criteria, err := filter.criteria()
		if err != nil {
			return err
		}
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		var made []json.RawMessage
		for _, id := range args[1:] {
			answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/deliveries/"+id+"/replay", nil)
			if err != nil {
				return fmt.Errorf("replay %s: %w", id, err)
			}
			made = append(made, answer)
		}
		if filter.failed {
			// The server's own choice, when no filter is sent, leaves out those that were replayed with success.
			criteria["replayed_event_id"] = map[string]any{"is_null_": true}
			if criteria["reason"] == nil { // Refused requests, which are not replayed, must not fill the page.
				criteria["reason"] = map[string]any{"any_": deliverylog.VerifiedReasons()}
			}
			body := map[string]any{"deliveries": criteria, "limit": filter.limit}
			several, err := remote.Read[[]json.RawMessage](cmd.Context(), s, http.MethodPost, path+"/deliveries/replay", body)
			if err != nil {
				return err
			}
			made = append(made, several...)
		}
		if err := showAll(c, cmd, made, deliveryHead, deliveryRow); err != nil {
			return err
		}
		return refused(made)
	}
	return cmd
}

// refused is an error when deliveries failed again.
func refused(made []json.RawMessage) error {
	failed := 0
	for _, text := range made {
		d, err := remote.Decode[delivery](text)
		if err != nil {
			return err
		}
		if d.Status >= http.StatusBadRequest {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d deliveries failed again", failed, len(made))
	}
	return nil
}
