package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// webhookFile reads a file of webhooks. It refuses unknown fields.
type webhookFile struct {
	cmd     *cobra.Command // It prints the warnings.
	path    string
	server  *remote.Server
	presets []json.RawMessage // Read once, for the first webhook with a preset.
}

// read returns the webhooks of the file, or all errors of the file.
func (f *webhookFile) read(ctx context.Context) ([]map[string]any, error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	wanted, err := decodeRecords(text, webhooksKey)
	if err != nil {
		return nil, fmt.Errorf("%w: read webhooks of %s: %w", errArgument, f.path, err)
	}
	var errs []error
	seen := map[string]bool{}
	for i, w := range wanted {
		refuse := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%w: %s: webhook %d: %w", errArgument, f.path, i+1, fmt.Errorf(format, args...)))
		}
		name, _ := w["name"].(string)
		if name == "" {
			refuse("it has no name")
		} else if seen[name] {
			refuse("another webhook has the name %q", name)
		}
		seen[name] = true
		if err := f.addPreset(ctx, w); err != nil {
			errs = append(errs, err)
			continue
		}
		completeResponse(w)
		if err := readSecrets(filepath.Dir(f.path), w); err != nil {
			refuse("%w", err)
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if !slices.Contains(webhookFields, key) {
				refuse("unknown field %q", key)
			}
		}
		if err := errors.Join(f.checkFilter(ctx, w), f.checkTemplate(ctx, w)); err != nil {
			refuse("%w", err)
		}
	}
	return wanted, errors.Join(errs...)
}

// webhooksKey is the only key of a file of webhooks, and the name of their collection.
const webhooksKey = "webhooks"

// checkTemplate lets the server compile the webhook's template, and prints warnings.
func (f *webhookFile) checkTemplate(ctx context.Context, w map[string]any) error {
	template, ok := w["template"].(string)
	if !ok {
		return nil
	}
	r, err := renderDraft(ctx, f.server, template, "")
	if err != nil {
		return err
	}
	r.warnOfLabels(f.cmd, template)
	return r.syntaxError(stageTemplate)
}

// checkFilter lets the server compile the webhook's filter.
func (f *webhookFile) checkFilter(ctx context.Context, w map[string]any) error {
	filter, _ := w["filter"].(string)
	if filter == "" {
		return nil
	}
	const anyTemplate = "{}" // It is not rendered: the filter is compiled before.
	r, err := renderDraft(ctx, f.server, anyTemplate, filter)
	if err != nil {
		return err
	}
	if err := r.syntaxError(stageFilter); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return nil
}

// syntaxError returns the error of a source that does not compile. An empty request may well fail otherwise.
func (r rendering) syntaxError(stage string) error {
	if r.Error != nil && r.Error.Stage == stage && strings.Contains(r.Error.Message, "syntax error") {
		return errors.New(placed(r.Error.Message, r.Error.Line, r.Error.Column))
	}
	return nil
}

// addPreset adds the fields of the preset that the webhook names and does not set itself.
func (f *webhookFile) addPreset(ctx context.Context, w map[string]any) error {
	name, ok := w["preset"].(string)
	if !ok {
		return nil
	}
	delete(w, "preset")
	if f.presets == nil {
		var err error
		if f.presets, err = readPresets(ctx, f.server); err != nil {
			return err
		}
	}
	fields, err := fieldsOfPreset(f.presets, name)
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

// readSecrets replaces verification.secrets_file and verify_token_file by the secrets in them.
func readSecrets(dir string, w map[string]any) error {
	if text, given, err := secretFile(dir, w, "verify_token_file"); err != nil {
		return err
	} else if given {
		w["verify_token"] = strings.TrimRight(text, "\r\n")
	}
	verification, ok := w["verification"].(map[string]any)
	if !ok {
		return nil
	}
	text, given, err := secretFile(dir, verification, "secrets_file")
	if given {
		verification["secrets"] = secretLines(text)
	}
	return err
}

// secretFile removes a key with a path and returns the content of the file.
func secretFile(dir string, fields map[string]any, key string) (text string, given bool, err error) {
	path, ok := fields[key].(string)
	if !ok {
		return "", false, nil
	}
	delete(fields, key)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	content, err := os.ReadFile(path) //nolint:gosec // The caller's own file names it.
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", key, err)
	}
	return string(content), true, nil
}
