package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// webhookPreset is how the webhooks of a provider are set up.
type webhookPreset struct {
	Name          string          `json:"name"`
	Title         string          `json:"title"`
	Description   string          `json:"description"`
	Documentation string          `json:"documentation"`
	Secret        string          `json:"secret"`
	Webhook       json.RawMessage `json:"webhook"`
	Sample        struct {
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"sample"`
}

func webhookPresetsCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "presets [PRESET]",
		Short: "List the providers that a webhook can be set up for, or show one with its template and a sample",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return c.showPreset(cmd, s, args[0])
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, s.InWorkspace("/webhooks/presets"), nil)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, []string{"PRESET", "PROVIDER", "SECRET"}, func(p webhookPreset) []string {
				return []string{p.Name, p.Title, p.Secret}
			})
		},
	}
}

func (c *connection) showPreset(cmd *cobra.Command, s *remote.Server, name string) error {
	p, text, err := findPreset(cmd.Context(), s, name)
	if err != nil {
		return err
	}
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), text)
	}
	var fields struct {
		Template     string          `json:"template"`
		Verification json.RawMessage `json:"verification"`
	}
	if err := json.Unmarshal(p.Webhook, &fields); err != nil {
		return fmt.Errorf("read preset: %w", err)
	}
	c.say(cmd, "%s: %s\n%s\n", p.Title, p.Description, p.Documentation)
	if p.Secret != "" {
		c.say(cmd, "Secret: %s\nVerification: %s\n", p.Secret, fields.Verification)
	}
	c.say(cmd, "Template:\n%s\nSample:", fields.Template)
	for _, header := range slices.Sorted(maps.Keys(p.Sample.Headers)) {
		c.say(cmd, "%s: %s", header, p.Sample.Headers[header])
	}
	c.say(cmd, "\n%s", p.Sample.Body)
	return nil
}

// readPresets returns the JSON texts of the server's presets.
func readPresets(ctx context.Context, s *remote.Server) ([]json.RawMessage, error) {
	texts, err := remote.Read[[]json.RawMessage](ctx, s, http.MethodGet, s.InWorkspace("/webhooks/presets"), nil)
	if err != nil {
		return nil, fmt.Errorf("read presets: %w", err)
	}
	return texts, nil
}

// findPreset returns a preset of the server, and its JSON text.
func findPreset(ctx context.Context, s *remote.Server, name string) (webhookPreset, json.RawMessage, error) {
	texts, err := readPresets(ctx, s)
	if err != nil {
		return webhookPreset{}, nil, err
	}
	return presetNamed(texts, name)
}

// presetNamed returns the preset of a name, and its JSON text.
func presetNamed(texts []json.RawMessage, name string) (webhookPreset, json.RawMessage, error) {
	names := make([]string, len(texts))
	for i, text := range texts {
		p, err := remote.Decode[webhookPreset](text)
		if err != nil {
			return p, nil, err
		}
		if names[i] = p.Name; p.Name == name {
			return p, text, nil
		}
	}
	return webhookPreset{}, nil, fmt.Errorf("%w: unknown preset %q; the presets are %s", errArgument, name, strings.Join(names, ", "))
}

// presetFields returns the fields of a webhook that a preset sets.
func presetFields(ctx context.Context, s *remote.Server, name string) (map[string]any, error) {
	texts, err := readPresets(ctx, s)
	if err != nil {
		return nil, err
	}
	return fieldsOfPreset(texts, name)
}

func fieldsOfPreset(texts []json.RawMessage, name string) (map[string]any, error) {
	p, _, err := presetNamed(texts, name)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(p.Webhook, &fields); err != nil {
		return nil, fmt.Errorf("read preset: %w", err)
	}
	return fields, nil
}
