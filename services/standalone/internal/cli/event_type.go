package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
)

var eventTypeResource = &resource{
	noun: "event-type", plural: "event_types", argument: "EVENT-TYPE",
	columns: append([]column{
		fieldColumn("NAME", "name"), fieldColumn("FIRST SEEN", "first_seen"), fieldColumn("LAST SEEN", "last_seen"), fieldColumn("PINNED", "pinned"),
		fieldColumn("VIOLATIONS", "violations"),
	}, identityColumns()...),
	filters: []filter{{"name", "event types whose name contains a text", nameLike("event_types")}},
	list:    listIn("/v2/event_types/filter"), path: foundIn("/v2/event_types", "event_types"),
	warning: "with its schema",
}

func eventTypeCommand(version string) *cobra.Command {
	r := eventTypeResource
	return remoteCommand(version, &cobra.Command{
		Use: "event-type", Aliases: []string{"event-types"}, Short: "Show the names of events with schemas of their payloads, and pin schemas",
		Long: `Show the names of events with schemas of their payloads, and pin schemas. Commands accept an event type's id or its name.`,
		Example: `  orch event-type ls --name order.
  orch event-type inspect order.paid
  orch event-type pin order.paid
  orch event-type violations order.paid`,
	}, r.listCommand, r.inspectCommand, eventTypePinCommand, eventTypeUnpinCommand, eventTypeViolationsCommand, eventTypeAsyncAPICommand, r.deleteCommand)
}

func eventTypePinCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pin EVENT-TYPE",
		Short:   "Pin the inferred schema, or one of a file: events that violate it are marked",
		Example: "  orch event-type pin order.paid --schema order.json",
		Args:    cobra.ExactArgs(1),
	}
	file := cmd.Flags().String("schema", "", "a file with a JSON Schema")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body := map[string]any{}
		if *file != "" {
			text, err := os.ReadFile(*file)
			if err != nil {
				return err
			}
			if !json.Valid(text) {
				return fmt.Errorf("%w: %s has no JSON", errArgument, *file)
			}
			body["schema"] = json.RawMessage(text)
		}
		s, path, err := eventTypeResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		answer, err := s.Call(cmd.Context(), http.MethodPut, path+"/pin", body)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return printJSON(cmd.OutOrStdout(), answer)
		}
		c.say(cmd, "event type %s pinned", args[0])
		return nil
	}
	return cmd
}

func eventTypeUnpinCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "unpin EVENT-TYPE", Short: "Unpin the schema: events are not checked any more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := eventTypeResource.locate(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if _, err := s.Call(cmd.Context(), http.MethodDelete, path+"/pin", nil); err != nil {
				return err
			}
			c.say(cmd, "event type %s unpinned", args[0])
			return nil
		},
	}
}

// violatingEvent is an event with its related resources, one of which is the event type whose schema it violates.
type violatingEvent struct {
	eventSummary
	Related []map[string]string `json:"related"`
}

func violationRow(e violatingEvent) []string {
	pointer, reason := "", ""
	for _, related := range e.Related {
		for label, value := range related { // In either vocabulary.
			switch {
			case strings.HasSuffix(label, ".schema.path"):
				pointer = value
			case strings.HasSuffix(label, ".schema.reason"):
				reason = value
			}
		}
	}
	return []string{e.Occurred.Format(time.RFC3339), pointer, reason, e.ID}
}

func eventTypeViolationsCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "violations EVENT-TYPE",
		Short: "List the last events that violate the pinned schema, with path and reason",
		Args:  cobra.ExactArgs(1),
	}
	limit := cmd.Flags().Int("limit", 20, "the maximum number of events")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, address, err := eventTypeResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		id := path.Base(address)
		resources := []string{vocabulary.Orch.Name("event-type", id), vocabulary.Prefect.Name("event-type", id)}
		filter := map[string]any{"any_resource": map[string]any{"id": resources}, "order": "DESC"}
		events, err := readEvents(cmd.Context(), s, map[string]any{"filter": filter, "limit": min(*limit, maxEvents)}, *limit)
		if err != nil {
			return err
		}
		return showAll(c, cmd, events, []string{"OCCURRED", "PATH", "REASON", "ID"}, violationRow)
	}
	return cmd
}

func eventTypeAsyncAPICommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "asyncapi",
		Short:   "Print an AsyncAPI document of the events, with their schemas",
		Example: "  orch event-type asyncapi --prefix order. > events.json",
		Args:    cobra.NoArgs,
	}
	prefix := cmd.Flags().String("prefix", "", "the events whose name begins with a text")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		document, err := s.Call(cmd.Context(), http.MethodGet, s.InWorkspace("/v2/event_types/asyncapi?prefix="+url.QueryEscape(*prefix)), nil)
		if err != nil {
			return err
		}
		return printJSON(cmd.OutOrStdout(), document)
	}
	return cmd
}
