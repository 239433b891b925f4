package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// deadLetterSummary is what the commands read of a dead letter; with --output json the whole record is printed.
type deadLetterSummary struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	Kind     string    `json:"kind"`
	Failed   time.Time `json:"failed"`
	Blocking bool      `json:"blocking"`
	Reason   string    `json:"reason"`
}

var deadLetterHead = []string{"ID", "SOURCE", "KIND", "FAILED", "REASON"}

func deadLetterRow(d deadLetterSummary) []string {
	reason := d.Reason
	if d.Blocking {
		reason = "(blocking) " + reason
	}
	return []string{d.ID, d.Source, d.Kind, d.Failed.Format(time.RFC3339), reason}
}

func deadLettersCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "dead-letter", Aliases: []string{"dead-letters"}, Short: "List, retry and discard what failed permanently",
		Long: `List, retry and discard what failed permanently: effects of writes, and events that a consumer rejected.
The server logs each failure and counts them in the metric orch_dead_letters_total.`,
	}, deadLetterListCommand, deadLetterInspectCommand, deadLetterRetryCommand, deadLetterDiscardCommand)
}

func deadLetterListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the dead letters of the server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			all, err := deadLetters(cmd, s)
			if err != nil {
				return err
			}
			return showAll(c, cmd, all, deadLetterHead, deadLetterRow)
		},
	}
}

// deadLetters reads all pages.
func deadLetters(cmd *cobra.Command, s *remote.Server) ([]json.RawMessage, error) {
	var all []json.RawMessage
	query := map[string]any{"limit": everyone}
	for {
		page, err := remote.Read[[]json.RawMessage](cmd.Context(), s, http.MethodPost, "/admin/dead_letters/filter", query)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < everyone {
			return all, nil
		}
		last, err := remote.Decode[deadLetterSummary](page[len(page)-1])
		if err != nil {
			return nil, err
		}
		query["after"] = last.ID
	}
}

func deadLetterPath(id string) string { return "/admin/dead_letters/" + url.PathEscape(id) }

func deadLetterInspectCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "inspect ID", Aliases: []string{"show"},
		Short: "Show a dead letter with all fields",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			letter, err := s.Call(cmd.Context(), http.MethodGet, deadLetterPath(args[0]), nil)
			if err != nil {
				return err
			}
			return c.inspect(cmd, letter)
		},
	}
}

func deadLetterRetryCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "retry [ID...]",
		Short:   "Execute effects again, or deliver events to their consumers again",
		Example: "  orch dead-letter retry --cause 'connection refused'",
	}
	cause := cmd.Flags().String("cause", "", "retry the dead letters whose reason contains a text")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) > 0) == (*cause != "") {
			return fmt.Errorf("%w: either ids or --cause are required", errArgument)
		}
		s, err := c.server()
		if err != nil {
			return err
		}
		if *cause != "" {
			all, err := deadLetters(cmd, s)
			if err != nil {
				return err
			}
			for _, text := range all {
				one, err := remote.Decode[deadLetterSummary](text)
				if err != nil {
					return err
				}
				if strings.Contains(one.Reason, *cause) {
					args = append(args, one.ID)
				}
			}
		}
		if len(args) == 0 {
			c.say(cmd, "No dead letter has this cause.")
		}
		var failed []error
		for _, id := range args {
			if _, err := s.Call(cmd.Context(), http.MethodPost, deadLetterPath(id)+"/retry", nil); err != nil {
				failed = append(failed, fmt.Errorf("retry %s: %w", id, err))
				continue
			}
			c.say(cmd, "Retried %s.", id)
		}
		return errors.Join(failed...)
	}
	return cmd
}

func deadLetterDiscardCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discard ID",
		Short: "Remove a dead letter; its effect or event is lost",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		return c.remove(cmd, s, deadLetterPath(args[0]), *yes, fmt.Sprintf("Discard the dead letter %s?", args[0]), fmt.Sprintf("Discarded %s.", args[0]))
	}
	return cmd
}
