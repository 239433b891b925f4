package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// change is what apply does with one webhook.
type change struct {
	verb   string // create, change, delete or unchanged
	name   string
	id     string         // of an existing webhook
	body   map[string]any // the fields to send
	before map[string]any // the fields as they are
}

func webhookApplyCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change webhooks so that they are as a file describes them",
		Long: `Create and change webhooks so that they are as a YAML file describes them. Webhooks are recognized by name; fields that
the file does not name stay. Nothing is changed if the file or a template in it is invalid.

The file has a list "webhooks", whose items have the fields of the API, "preset" for those of a preset, and
"verification.secrets_file", a path relative to the file. Secrets are sent for a new webhook, for another scheme, and
with --update-secrets.`,
		Example: `  orch webhook export > webhooks.yaml
  orch webhook apply -f webhooks.yaml --dry-run`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "the file")
	_ = cmd.MarkFlagRequired("file")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the changes only")
	prune := cmd.Flags().Bool("prune", false, "delete the webhooks that the file does not name")
	secrets := cmd.Flags().Bool("update-secrets", false, "send the secrets of existing webhooks too")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		wanted, err := readWebhooks(cmd.Context(), s, *file)
		if err != nil {
			return err
		}
		changes, err := planWebhooks(cmd.Context(), s, wanted, *prune, *secrets)
		if err != nil {
			return err
		}
		for _, one := range changes {
			c.showChange(cmd, one)
		}
		if *dryRun {
			return nil
		}
		if slices.ContainsFunc(changes, func(one change) bool { return one.verb == "delete" }) {
			if err := confirm(cmd, *yes, "Delete the webhooks that the file does not name?"); err != nil {
				return err
			}
		}
		for _, one := range changes {
			if err := one.apply(cmd.Context(), s); err != nil {
				return fmt.Errorf("%s webhook %s: %w", one.verb, one.name, err)
			}
		}
		return nil
	}
	return cmd
}

// readWebhooks reads the webhooks of a file. It reports all errors of the file.
func readWebhooks(ctx context.Context, s *remote.Server, file string) ([]map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	var document struct {
		Webhooks []map[string]any `yaml:"webhooks"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%w: read webhooks of %s: %w", errArgument, file, err)
	}
	var errs []error
	seen := map[string]bool{}
	for i, w := range document.Webhooks {
		refuse := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%w: %s: webhook %d: %w", errArgument, file, i+1, fmt.Errorf(format, args...)))
		}
		name, _ := w["name"].(string)
		if name == "" {
			refuse("it has no name")
		} else if seen[name] {
			refuse("another webhook has the name %q", name)
		}
		seen[name] = true
		if err := addPreset(ctx, s, w); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := readSecrets(filepath.Dir(file), w); err != nil {
			refuse("%w", err)
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if !slices.Contains(webhookFields, key) {
				refuse("unknown field %q", key)
			}
		}
		if err := checkSyntax(ctx, s, w); err != nil {
			refuse("%w", err)
		}
	}
	return document.Webhooks, errors.Join(errs...)
}

// addPreset adds the fields of the preset that the webhook names and does not set itself.
func addPreset(ctx context.Context, s *remote.Server, w map[string]any) error {
	name, ok := w["preset"].(string)
	if !ok {
		return nil
	}
	delete(w, "preset")
	fields, err := presetFields(ctx, s, name)
	if err != nil {
		return err
	}
	own, _ := w["verification"].(map[string]any)
	if verification, ok := fields["verification"].(map[string]any); ok && own != nil && own["scheme"] == nil {
		maps.Copy(verification, own)
		w["verification"] = verification
	}
	for key, value := range fields {
		if _, set := w[key]; !set {
			w[key] = value
		}
	}
	return nil
}

// readSecrets replaces verification.secrets_file by the secrets in it.
func readSecrets(dir string, w map[string]any) error {
	verification, ok := w["verification"].(map[string]any)
	if !ok {
		return nil
	}
	path, ok := verification["secrets_file"].(string)
	if !ok {
		return nil
	}
	delete(verification, "secrets_file")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read secrets_file: %w", err)
	}
	verification["secrets"] = secretLines(string(text))
	return nil
}

// checkSyntax lets the server compile the webhook's template.
func checkSyntax(ctx context.Context, s *remote.Server, w map[string]any) error {
	template, ok := w["template"].(string)
	if !ok {
		return nil
	}
	r, err := remote.Read[rendering](ctx, s, http.MethodPost, s.InWorkspace("/webhooks/render"), map[string]any{"template": template})
	if err != nil {
		return err
	}
	if r.Error != nil && r.Error.Stage == "template" && strings.Contains(r.Error.Message, "syntax error") {
		return errors.New(r.Error.Message)
	}
	return nil
}

// planWebhooks compares the webhooks of a file with those of the server.
func planWebhooks(ctx context.Context, s *remote.Server, wanted []map[string]any, prune, secrets bool) ([]change, error) {
	current, err := currentWebhooks(ctx, s)
	if err != nil {
		return nil, err
	}
	byName := map[string]currentWebhook{}
	for _, w := range current {
		if _, twice := byName[w.name]; twice {
			return nil, fmt.Errorf("several webhooks have the name %q; rename or delete all but one", w.name)
		}
		byName[w.name] = w
	}
	var changes []change
	for _, w := range wanted {
		name, _ := w["name"].(string)
		existing, found := byName[name]
		delete(byName, name)
		if !found {
			changes = append(changes, change{verb: "create", name: name, body: w})
			continue
		}
		one := change{verb: "unchanged", name: name, id: existing.id, body: differences(existing.fields, w, secrets), before: existing.fields}
		if len(one.body) > 0 {
			one.verb = "change"
		}
		changes = append(changes, one)
	}
	if prune {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			changes = append(changes, change{verb: "delete", name: name, id: byName[name].id})
		}
	}
	return changes, nil
}

// differences returns the wanted fields that differ. Secrets are unknown, so they count only when they are to be sent.
func differences(current, wanted map[string]any, secrets bool) map[string]any {
	out := map[string]any{}
	for name, value := range wanted {
		if verification, ok := value.(map[string]any); ok && name == "verification" {
			before, _ := current[name].(map[string]any)
			if verification["secrets"] != nil && secrets || before == nil || !covers(before, verification) {
				out[name] = value
			}
		} else if !same(current[name], value) {
			out[name] = value
		}
	}
	return out
}

// covers reports whether the current verification has all wanted settings.
func covers(current, wanted map[string]any) bool {
	for key, value := range wanted {
		if key != "secrets" && !same(current[key], value) {
			return false
		}
	}
	return true
}

// same compares values as JSON, because YAML and JSON have different types of numbers.
func same(a, b any) bool {
	normal := func(v any) (out any) {
		text, err := json.Marshal(v)
		if err != nil || json.Unmarshal(text, &out) != nil {
			return v
		}
		if list, ok := out.([]any); ok && len(list) == 0 {
			return nil
		}
		return out
	}
	return reflect.DeepEqual(normal(a), normal(b))
}

// showChange prints a change with the fields before and after it, without secrets.
func (c *connection) showChange(cmd *cobra.Command, one change) {
	c.say(cmd, "%-9s %s", one.verb, one.name)
	if one.verb != "change" {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(one.body)) {
		after := one.body[field]
		if verification, ok := after.(map[string]any); ok {
			after = maps.Clone(verification)
			delete(after.(map[string]any), "secrets")
		}
		for _, side := range []struct {
			sign  string
			value any
		}{{"-", one.before[field]}, {"+", after}} {
			text, err := json.Marshal(side.value)
			if err != nil {
				text = []byte(err.Error())
			}
			c.say(cmd, "  %s %s: %s", side.sign, field, text)
		}
	}
}

// apply sends a change.
func (one change) apply(ctx context.Context, s *remote.Server) error {
	var err error
	switch one.verb {
	case "create":
		_, err = s.Call(ctx, http.MethodPost, s.InWorkspace("/webhooks/"), one.body)
	case "change":
		_, err = s.Call(ctx, http.MethodPatch, s.InWorkspace("/webhooks/"+one.id), one.body)
	case "delete":
		_, err = s.Call(ctx, http.MethodDelete, s.InWorkspace("/webhooks/"+one.id), nil)
	}
	return err
}
