package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// automationPreview has the fields of a preview that the command shows.
type automationPreview struct {
	EventID    *string `json:"event_id"`
	Renderings []struct {
		Field string          `json:"field"`
		Value json.RawMessage `json:"value"`
		Error *string         `json:"error"`
		Line  *int            `json:"line"`
	} `json:"renderings"`
}

// matchRange is the range of time in which the last event that matches is looked for.
const matchRange = 7 * 24 * time.Hour

func automationPreviewCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview [AUTOMATION]",
		Short: "Show the texts that the actions of an automation would have",
		Long: `Show the texts that the actions of an automation would have: subjects, messages, bodies, parameters and keys. The automation
is one of the server, or that of a file. Nothing is executed.

The texts are those for the event of --event or --event-file. Without these flags they are those for the last firing of a
stored automation, and for the last event of 7 days that the triggers of a file take.`,
		Example: `  orch automation preview notify
  orch automation preview -f notify.yaml --event 018f5e2a-6f5c-7c1e-9d55-4b1f2a3c4d5e`,
		Args: cobra.MaximumNArgs(1),
	}
	file := cmd.Flags().StringP("file", "f", "", "the file that holds the automation")
	event := cmd.Flags().String("event", "", "the id of a stored event")
	eventFile := cmd.Flags().String("event-file", "", "a YAML or JSON file with an event, which need not be stored")
	cmd.MarkFlagsMutuallyExclusive("event", "event-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (*file != "") {
			return fmt.Errorf("%w: either an automation or --file is required", errArgument)
		}
		s, query, err := c.trialOf(cmd.Context(), args, *file)
		if err != nil {
			return err
		}
		switch {
		case *event != "":
			query["event_id"] = *event
		case *eventFile != "":
			query["event"], err = readValueFile(*eventFile)
		case *file != "":
			query["event_id"], err = lastMatch(cmd.Context(), s, query["automation"])
		}
		if err != nil {
			return err
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/automations/preview"), query)
		if err != nil {
			return err
		}
		return c.showPreview(cmd, answer)
	}
	return cmd
}

// trialOf returns the part of a request that names the automation: a stored one, or the automation of a file.
func (c *connection) trialOf(ctx context.Context, args []string, file string) (*remote.Server, map[string]any, error) {
	if file == "" {
		s, found, err := c.automationOf(ctx, args[0])
		return s, map[string]any{"automation_id": path.Base(found)}, err
	}
	s, err := c.server()
	if err != nil {
		return nil, nil, err
	}
	automation, err := readAutomation(ctx, s, file)
	return s, map[string]any{"automation": automation}, err
}

// lastMatch returns the id of the last event that the triggers of an automation take.
func lastMatch(ctx context.Context, s *remote.Server, automation any) (string, error) {
	found, err := remote.Read[struct {
		Last *string `json:"last_event_id"`
	}](ctx, s, http.MethodPost, s.InWorkspace("/automations/evaluate"), map[string]any{
		"automation": automation, "since": time.Now().UTC().Add(-matchRange), "limit": 1000, // More firings would end the evaluation early.
	})
	if err == nil && found.Last == nil {
		err = fmt.Errorf("%w: no event of the last 7 days matches; --event or --event-file names one", errArgument)
	}
	if err != nil {
		return "", fmt.Errorf("find the last event that matches: %w", err)
	}
	return *found.Last, nil
}

func (c *connection) showPreview(cmd *cobra.Command, answer json.RawMessage) error {
	preview, err := remote.Decode[automationPreview](answer)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if c.output == outputJSON {
		err = printJSON(out, answer)
	}
	for _, one := range preview.Renderings {
		if one.Error != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s: %s", errTemplate, one.Field, *one.Error))
		}
		if c.output == outputJSON || one.Error != nil {
			continue
		}
		fmt.Fprintf(out, "%s:\n", one.Field)
		var text string
		if json.Unmarshal(one.Value, &text) == nil {
			fmt.Fprintf(out, "%s\n\n", printable(text))
		} else {
			err = errors.Join(err, printJSON(out, one.Value))
			fmt.Fprintln(out)
		}
	}
	if len(preview.Renderings) == 0 {
		c.say(cmd, "The actions have no templates.")
	}
	return err
}
