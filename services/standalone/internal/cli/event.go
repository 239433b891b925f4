package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// eventSummary is what the commands read of an event.
type eventSummary struct {
	ID       string            `json:"id"`
	Event    string            `json:"event"`
	Occurred time.Time         `json:"occurred"`
	Resource map[string]string `json:"resource"`
}

var eventHead = []string{"OCCURRED", "EVENT", "RESOURCE", "ID"}

func eventRow(e eventSummary) []string {
	return []string{e.Occurred.Format(millisecondTime), e.Event, labelOf(e.Resource, ".resource.id"), e.ID}
}

func eventCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "event", Aliases: []string{"events"}, Short: "List events, follow them as they occur, or create them",
	}, eventListCommand, eventInspectCommand, eventCreateCommand, eventTailCommand)
}

// eventFilter selects events.
type eventFilter struct {
	names, resources []string
	since            time.Duration
}

func newEventFilter(cmd *cobra.Command) *eventFilter {
	f := &eventFilter{}
	cmd.Flags().StringSliceVar(&f.names, "event", nil, "events of a name, or of names that begin with a text before *; several may be given")
	cmd.Flags().StringSliceVar(&f.resources, "resource", nil, "events of a resource id, or of ids that begin with a text before *; several may be given")
	return f
}

// body returns the request for the events of a time range.
func (f *eventFilter) body(since, until time.Time, order string, limit int) map[string]any {
	filter := map[string]any{"occurred": map[string]any{"since": since.UTC(), "until": until.UTC()}, "order": order}
	if names, prefixes := wildcards(f.names); names != nil || prefixes != nil {
		filter["event"] = map[string]any{"name": names, "prefix": prefixes}
	}
	if ids, prefixes := wildcards(f.resources); ids != nil || prefixes != nil {
		filter["resource"] = map[string]any{"id": ids, "id_prefix": prefixes}
	}
	return map[string]any{"filter": filter, "limit": limit}
}

// wildcards separates texts from prefixes, which end in an asterisk.
func wildcards(texts []string) (exact, prefixes []string) {
	for _, text := range texts {
		if prefix, ok := strings.CutSuffix(text, "*"); ok {
			prefixes = append(prefixes, prefix)
		} else {
			exact = append(exact, text)
		}
	}
	return exact, prefixes
}

// maxEvents is the largest page of events that the API returns.
const maxEvents = 50

// eventPage is a page of events.
type eventPage struct {
	Events   []json.RawMessage `json:"events"`
	NextPage *string           `json:"next_page"`
}

func eventListCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the last events",
		Example: `  orch event ls --event 'github.*' --since 1h
  orch event ls --resource orch.flow-run.1f9a… -o json`,
		Args: cobra.NoArgs,
	}
	filter := newEventFilter(cmd)
	spanVar(cmd.Flags(), &filter.since, "since", 24*time.Hour, "events of a span of time that ends now")
	limit := cmd.Flags().Int("limit", 20, "the maximum number of events")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		now := time.Now()
		events, err := readEvents(cmd.Context(), s, filter.body(now.Add(-filter.since), now.Add(time.Minute), "DESC", min(*limit, maxEvents)), *limit)
		if err != nil {
			return err
		}
		return showAll(c, cmd, events, eventHead, eventRow)
	}
	return cmd
}

// readEvents reads pages of events up to a limit.
func readEvents(ctx context.Context, s *remote.Server, body map[string]any, limit int) ([]json.RawMessage, error) {
	page, err := remote.Read[eventPage](ctx, s, http.MethodPost, s.InWorkspace("/events/filter"), body)
	var all []json.RawMessage
	for {
		if err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if len(all) >= limit || page.NextPage == nil {
			return all[:min(len(all), limit)], nil
		}
		next, err := url.Parse(*page.NextPage)
		if err != nil {
			return nil, fmt.Errorf("read the address of the next page: %w", err)
		}
		page, err = remote.Read[eventPage](ctx, s, http.MethodGet, s.InWorkspace("/events/filter/next?"+next.RawQuery), nil)
		if err != nil {
			return nil, err
		}
	}
}

func eventInspectCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect ID",
		Short: "Show one event with all fields",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			body := map[string]any{"filter": map[string]any{"id": map[string]any{"id": args}}, "limit": 1}
			found, err := readEvents(cmd.Context(), s, body, 1)
			if err == nil && len(found) == 0 {
				err = &remote.Error{Status: http.StatusNotFound, Detail: "not found"}
			}
			if err != nil {
				return fmt.Errorf("read the event %q: %w", args[0], err)
			}
			return c.inspect(cmd, found[0])
		},
	}
}

// maxFollowed bounds the events of one poll.
const maxFollowed = 5000

func eventTailCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show events as they occur, until interrupted",
		Args:  cobra.NoArgs,
	}
	filter := newEventFilter(cmd)
	spanVar(cmd.Flags(), &filter.since, "since", 0, "begin with the events of a span of time before now")
	every := cmd.Flags().Duration("every", tailInterval, "the polling interval")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *every <= 0 {
			return fmt.Errorf("%w: --every must be positive", errArgument)
		}
		s, err := c.server()
		if err != nil {
			return err
		}
		return c.follow(cmd, time.Now().Add(-filter.since), *every, stream{
			limit: maxFollowed,
			fetch: func(since time.Time) ([]json.RawMessage, error) {
				return readEvents(cmd.Context(), s, filter.body(since, time.Now().Add(time.Minute), "ASC", maxEvents), maxFollowed)
			},
			read: func(text json.RawMessage) (string, time.Time, string, error) {
				e, err := remote.Decode[eventSummary](text)
				row := eventRow(e)
				return e.ID, e.Occurred, cell(fmt.Sprintf("%s  %-40s  %s", row[0], row[1], row[2]), nil), err
			},
		})
	}
	return cmd
}
