package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// webhookSample is what the commands read of a sample.
type webhookSample struct {
	record
	Created time.Time         `json:"created"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Query   string            `json:"query"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func webhookSampleCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sample", Aliases: []string{"samples"}, Short: "Keep requests of a webhook under names, to try templates with them",
		Example: `  orch webhook sample create pushes "push to main" --delivery 0198f3c2-5f1a-7cc0-9d0a-2b1f6c1e4a55
  orch webhook sample create pushes ping --header 'X-GitHub-Event: ping' --data '{"zen": "Keep it logically awesome."}'
  orch webhook test pushes --sample ping --template-file next.jinja`,
	}
	for _, command := range []func(*connection) *cobra.Command{
		sampleCreateCommand, sampleListCommand, sampleInspectCommand, sampleRenameCommand, sampleDeleteCommand,
	} {
		below := command(c)
		c.completeNames(below)
		cmd.AddCommand(below)
	}
	return cmd
}

// showSamples shows samples in the output format.
func (c *connection) showSamples(cmd *cobra.Command, answer json.RawMessage) error {
	return show(c, cmd, answer, []string{"ID", "NAME", "CREATED", "METHOD", "PATH", "QUERY", "BYTES"}, func(s webhookSample) []string {
		return []string{s.ID, s.Name, s.Created.Format(time.RFC3339), s.Method, s.Path, s.Query, strconv.Itoa(len(s.Body))}
	})
}

// samplePath returns the path of a sample of the webhook at a path, by name or id.
func samplePath(ctx context.Context, s *remote.Server, webhook, argument string) (string, error) {
	all, err := remote.Read[[]record](ctx, s, http.MethodGet, webhook+"/samples", nil)
	if err != nil {
		return "", err
	}
	names := make([]string, len(all))
	for i, one := range all {
		if names[i] = one.Name; one.Name == argument || one.ID == argument {
			return webhook + "/samples/" + one.ID, nil
		}
	}
	return "", fmt.Errorf("no sample is named %q%s", argument, suggestion(argument, names))
}

func sampleCreateCommand(c *connection) *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use:   "create WEBHOOK NAME",
		Short: "Keep the request of a delivery, or a typed one, under a name",
		Long:  "Keep the request of a delivery, or a typed one, under a name. Credentials in headers and query are masked, as in the delivery log.",
		Args:  cobra.ExactArgs(2),
	}
	delivery := cmd.Flags().String("delivery", "", "the delivery whose request is kept, by id")
	for _, flag := range t.requestFlags(cmd) {
		cmd.MarkFlagsMutuallyExclusive("delivery", flag)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		body := map[string]any{nameField: args[1], "delivery_id": *delivery}
		if *delivery == "" {
			delete(body, "delivery_id")
			if body["request"], err = t.fields(); err != nil {
				return err
			}
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/samples", body)
		if err != nil {
			return err
		}
		return c.showSamples(cmd, answer)
	}
	return cmd
}

func sampleListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "ls WEBHOOK", Short: "List the samples of a webhook", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.webhookOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path+"/samples", nil)
			if err != nil {
				return err
			}
			return c.showSamples(cmd, answer)
		},
	}
}

// sampleOf returns the server and the path of the sample that the arguments WEBHOOK SAMPLE identify.
func (c *connection) sampleOf(ctx context.Context, args []string) (*remote.Server, string, error) {
	s, path, err := c.webhookOf(ctx, args[0])
	if err != nil {
		return nil, "", err
	}
	path, err = samplePath(ctx, s, path, args[1])
	return s, path, err
}

func sampleInspectCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "inspect WEBHOOK SAMPLE", Aliases: []string{"get"}, Short: "Show a sample with its request", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.sampleOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			if err := c.showSamples(cmd, answer); err != nil {
				return err
			}
			sample, err := remote.Decode[webhookSample](answer)
			if err != nil {
				return err
			}
			c.say(cmd, "")
			for _, name := range slices.Sorted(maps.Keys(sample.Headers)) {
				c.say(cmd, "%s: %s", printable(name), printable(sample.Headers[name]))
			}
			c.say(cmd, "\n%s", printable(sample.Body))
			return nil
		},
	}
}

func sampleRenameCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "rename WEBHOOK SAMPLE NAME", Short: "Rename a sample", Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.sampleOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			if _, err := s.Call(cmd.Context(), http.MethodPatch, path, map[string]any{nameField: args[2]}); err != nil {
				return err
			}
			c.say(cmd, "sample %s renamed to %s", printable(args[1]), printable(args[2]))
			return nil
		},
	}
}

func sampleDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{Use: "delete WEBHOOK SAMPLE", Short: "Delete a sample", Args: cobra.ExactArgs(2)}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.sampleOf(cmd.Context(), args)
		if err != nil {
			return err
		}
		if err := confirm(cmd, *yes, "Delete the sample "+args[1]+"?"); err != nil {
			return err
		}
		if _, err := s.Call(cmd.Context(), http.MethodDelete, path, nil); err != nil {
			return err
		}
		c.say(cmd, "sample %s deleted", printable(args[1]))
		return nil
	}
	return cmd
}
