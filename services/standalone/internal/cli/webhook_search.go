package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// searchFlag adds --search.
func searchFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("search", "", "deliveries whose path, query, headers, body, sender, error, event or response contain a text")
}

// searchDeliveries returns at most limit deliveries of the webhook at a path that contain a text, newest first.
func searchDeliveries(ctx context.Context, s *remote.Server, path string, criteria map[string]any, text string, limit int) ([]json.RawMessage, error) {
	var found []json.RawMessage
	body := map[string]any{"deliveries": criteria, "text": text}
	for {
		body["limit"] = limit - len(found)
		result, err := remote.Read[struct {
			Deliveries    []json.RawMessage `json:"deliveries"`
			NextPageToken *string           `json:"next_page_token"`
		}](ctx, s, http.MethodPost, path+"/deliveries/search", body)
		if err != nil {
			return nil, err
		}
		found = append(found, result.Deliveries...)
		if result.NextPageToken == nil || len(found) >= limit {
			return found, nil
		}
		body["page_token"] = *result.NextPageToken
	}
}

func webhookDeleteDeliveriesCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete-deliveries WEBHOOK",
		Short: "Delete deliveries from the log of a webhook, with their requests",
		Long: `Delete deliveries from the log of a webhook, with their requests: those that contain a text, such as the data of a person, and that
match the other flags. Their events stay. With --samples the samples of the webhook that contain the text are deleted, too.`,
		Example: "  orch webhook delete-deliveries pushes --search ada@example.com --samples",
		Args:    cobra.ExactArgs(1),
	}
	filter := newDeliveryFilter(cmd)
	text, yes := searchFlag(cmd), yesFlag(cmd)
	withSamples := cmd.Flags().Bool("samples", false, "delete the samples that contain the text of --search, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *withSamples && *text == "" {
			return fmt.Errorf("%w: --samples needs --search", errArgument)
		}
		criteria, err := filter.criteria()
		if err != nil {
			return err
		}
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		question := "Delete all deliveries of the webhook " + args[0] + " from its log?"
		if *text != "" || len(criteria) > 0 {
			question = "Delete the matching deliveries of the webhook " + args[0] + " from its log?"
		}
		if err := confirm(cmd, *yes, question); err != nil {
			return err
		}
		body := map[string]any{"deliveries": criteria}
		if *text != "" {
			body["text"], body["samples"] = *text, *withSamples
		}
		deleted, samples := 0, 0
		for {
			result, err := remote.Read[struct {
				Deleted       int     `json:"deleted"`
				Samples       int     `json:"samples"`
				NextPageToken *string `json:"next_page_token"`
			}](cmd.Context(), s, http.MethodPost, path+"/deliveries/delete", body)
			if err != nil {
				return fmt.Errorf("after %d deliveries were deleted: %w", deleted, err)
			}
			samples += result.Samples
			if deleted += result.Deleted; result.NextPageToken == nil {
				break
			}
			body["page_token"] = *result.NextPageToken
		}
		c.say(cmd, "Deleted %d deliveries.", deleted)
		if *withSamples {
			c.say(cmd, "Deleted %d samples.", samples)
		}
		return nil
	}
	return cmd
}
