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
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// applyCommand returns the command apply.
func (r *resource) applyCommand(c *connection) *cobra.Command {
	plural := strings.ReplaceAll(r.plural, "_", " ")
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change " + plural + " so that they are as a file describes them",
		Long: fmt.Sprintf(`Create and change %[1]s so that they are as a YAML file describes them. Fields that the file does not name stay.
Nothing is changed if the file has an unknown field.

The file has a list %[2]q, as "orch %[3]s export" prints it, whose items have the fields
%[4]s.%[5]s`, plural, r.plural, r.noun, strings.Join(r.fileFields, ", "), r.fileNote),
		Example: fmt.Sprintf("  orch %[1]s export > %[2]s.yaml\n  orch %[1]s apply -f %[2]s.yaml --dry-run", r.noun, r.plural),
		Args:    cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "the file")
	_ = cmd.MarkFlagRequired("file")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the changes only")
	prune := cmd.Flags().Bool("prune", false, "delete the "+plural+" that the file does not name")
	yes, secrets := yesFlag(cmd), new(bool)
	if r.secrets != nil {
		secrets = cmd.Flags().Bool("update-secrets", false, "send the secrets of existing "+plural+" too")
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		wanted, err := r.readFile(*file)
		if err != nil {
			return err
		}
		current, err := r.current(cmd.Context(), s)
		if err != nil {
			return err
		}
		changes, err := r.plan(current, wanted, *prune, *secrets)
		if err != nil {
			return err
		}
		return c.applyChanges(cmd, r.plural, changes, *dryRun, *yes, func(ctx context.Context, one change) error { return r.apply(ctx, c, cmd, s, one) })
	}
	return cmd
}

// exportCommand returns the command export.
func (r *resource) exportCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: fmt.Sprintf("Print all %s as a YAML file for `orch %s apply`", strings.ReplaceAll(r.plural, "_", " "), r.noun),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			current, err := r.current(cmd.Context(), s)
			if err != nil {
				return err
			}
			records := make([]map[string]any, len(current))
			for i, one := range current {
				if data, ok := one.fields[r.merged].(map[string]any); ok {
					maps.DeleteFunc(data, func(name string, _ any) bool { return one.secrets[name] })
				}
				withoutNulls(one.fields)
				maps.DeleteFunc(one.fields, isEmpty)
				records[i] = one.fields
			}
			return writeRecords(cmd.OutOrStdout(), r.plural, r.exportNote, r.fileFields, records)
		},
	}
}

// withoutNulls removes the fields without a value from an object and from those in it.
func withoutNulls(object map[string]any) {
	for key, value := range object {
		if value == nil || value == "" {
			delete(object, key)
		}
		if inner, ok := value.(map[string]any); ok {
			withoutNulls(inner)
		}
	}
}

// readFile reads the records of a file, or all errors of the file.
func (r *resource) readFile(path string) ([]map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.plural, err)
	}
	wanted, err := decodeRecords(text, r.plural)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s of %s: %w", errArgument, r.plural, path, err)
	}
	var errs []error
	seen := map[string]bool{}
	for i, w := range wanted {
		refuse := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%w: %s: %s %d: %w", errArgument, path, r.singular(), i+1, fmt.Errorf(format, args...)))
		}
		if r.filePaths != nil {
			if err := r.filePaths(filepath.Dir(path), w); err != nil {
				refuse("%w", err)
			}
		}
		name := r.name(w)
		switch {
		case strings.Trim(name, "/") == "" || strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/"):
			refuse("it needs %s", strings.Join(r.identity(), " and "))
		case seen[name]:
			refuse("another one is %q", name)
		}
		seen[name] = true
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if !slices.Contains(r.fileFields, key) {
				refuse("unknown field %q%s", key, suggestion(key, r.fileFields))
			}
		}
	}
	return wanted, errors.Join(errs...)
}

// identity are the fields that identify a record in files.
func (r *resource) identity() []string {
	return r.fileFields[:max(1, r.identityFields)]
}

// current reads all records with the fields that a file may set.
func (r *resource) current(ctx context.Context, s *remote.Server) ([]currentRecord, error) {
	read := r.latest
	if read == nil {
		read = func(ctx context.Context, s *remote.Server) ([]json.RawMessage, error) {
			return r.list(ctx, s, map[string]any{}, 0)
		}
	}
	answers, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	var records []map[string]any
	for _, text := range answers {
		record := map[string]any{}
		if err := json.Unmarshal(text, &record); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.singular(), err)
		}
		if r.owned == nil || !r.owned(record) {
			records = append(records, record)
		}
	}
	if r.names != nil {
		if err := r.names(ctx, s, records); err != nil {
			return nil, err
		}
	}
	out := make([]currentRecord, len(records))
	for i, fields := range records {
		out[i].id, _ = fields["id"].(string)
		out[i].name = r.name(fields)
		if r.secrets != nil {
			out[i].secrets = r.secrets(fields)
		}
		maps.DeleteFunc(fields, func(key string, _ any) bool { return !slices.Contains(r.fileFields, key) })
		out[i].fields = fields
	}
	return out, nil
}

// plan compares the records of a file with the records of the server. Secrets are unknown, so they count only if they are to be sent.
func (r *resource) plan(current []currentRecord, wanted []map[string]any, prune, secrets bool) ([]change, error) {
	byName, err := uniqueNames(current, r.plural)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, w := range wanted {
		name := r.name(w)
		existing, found := byName[name]
		delete(byName, name)
		if !found {
			body := maps.Clone(w)
			maps.DeleteFunc(body, func(key string, _ any) bool { return slices.Contains(r.identity(), key) })
			changes = append(changes, change{verb: "create", name: name, body: body})
			continue
		}
		one := change{verb: "unchanged", name: name, body: map[string]any{}, before: existing.fields, shown: map[string]any{}}
		for key, value := range w {
			if slices.Contains(r.identity(), key) || includes(existing.fields[key], value) {
				continue
			}
			one.body[key], one.shown[key] = value, value
			if members, ok := value.(map[string]any); ok && key == r.merged {
				r.mergeInto(&one, existing, members, secrets)
			}
		}
		if len(one.body) > 0 {
			one.verb = "change"
		}
		if err := r.fixed(one); err != nil {
			return nil, err
		}
		changes = append(changes, one)
	}
	if prune {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			changes = append(changes, change{verb: "delete", name: name})
		}
	}
	return changes, nil
}

// mergeInto keeps of a change of the merged object the members that differ.
func (r *resource) mergeInto(one *change, existing currentRecord, members map[string]any, secrets bool) {
	before, _ := existing.fields[r.merged].(map[string]any)
	sent, shown, earlier := map[string]any{}, map[string]any{}, map[string]any{}
	for name, value := range members {
		switch {
		case existing.secrets[name] && secrets:
			sent[name], shown[name] = value, "(secret)"
		case !existing.secrets[name] && !includes(before[name], value):
			sent[name], shown[name], earlier[name] = value, value, before[name]
		}
	}
	if len(sent) == 0 {
		delete(one.body, r.merged)
		return
	}
	one.before = maps.Clone(one.before)
	one.body[r.merged], one.shown[r.merged], one.before[r.merged] = sent, shown, earlier
}

// fixed refuses a change of a field that only create sets.
func (r *resource) fixed(one change) error {
	for _, f := range r.fields {
		if value, changes := one.body[f.name]; changes && f.on == createOnly && f.name != r.activity {
			return fmt.Errorf("%w: the %s of the %s %q is %s and cannot become %s", errArgument, f.name, r.singular(), one.name, plain(one.before[f.name]), plain(value))
		}
	}
	return nil
}

// apply sends a change of a record, and prints the key that a new record has.
func (r *resource) apply(ctx context.Context, c *connection, cmd *cobra.Command, s *remote.Server, one change) error {
	if one.verb == "unchanged" {
		return nil
	}
	body := maps.Clone(one.body)
	if err := r.complete(ctx, s, body); err != nil {
		return err
	}
	if one.verb == "create" {
		answer, err := r.create(ctx, s, one.name, body)
		c.sayMadeKey(cmd, answer)
		return err
	}
	path, err := r.path(ctx, s, one.name)
	if err != nil {
		return err
	}
	if one.verb == "delete" {
		_, err = s.Call(ctx, http.MethodDelete, path, nil)
		return err
	}
	if err := r.addCurrent(ctx, s, path, body, r.whole); err != nil {
		return err
	}
	_, err = s.Call(ctx, http.MethodPatch, path, body)
	return err
}
