package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func automationApplyCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change automations so that they are as a file describes them",
		Long: `Create and change automations so that they are as a YAML file describes them. Automations are recognized by name; fields
that the file does not name stay. Nothing is changed if an automation in the file is invalid.

The file has one automation, or a list "automations". The fields are those of the API. Actions name what they act on by
"deployment: FLOW/DEPLOYMENT", "work_pool", "work_queue: POOL/QUEUE", "automation" or "block_document: TYPE/NAME"; the
fields of the API with ids work too.`,
		Example: `  orch automation export > automations.yaml
  orch automation apply -f automations.yaml --dry-run`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "the file")
	_ = cmd.MarkFlagRequired("file")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the changes only")
	prune := cmd.Flags().Bool("prune", false, "delete the automations that the file does not name")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		wanted, err := readAutomations(cmd.Context(), s, *file)
		if err != nil {
			return err
		}
		changes, err := planAutomations(cmd.Context(), s, wanted, *prune)
		if err != nil {
			return err
		}
		return c.applyChanges(cmd, automationsKey, changes, *dryRun, *yes, sendTo(s, automationsKey))
	}
	return cmd
}

// planAutomations compares the automations of a file with those of the server, which checks each one that is new or changes. It reports all
// errors before anything is changed.
func planAutomations(ctx context.Context, s *remote.Server, wanted []map[string]any, prune bool) ([]change, error) {
	current, err := currentAutomations(ctx, s)
	if err != nil {
		return nil, err
	}
	byName, err := uniqueNames(current, automationsKey)
	if err != nil {
		return nil, err
	}
	var changes []change
	var errs []error
	seen := map[string]bool{}
	for i, w := range wanted {
		name, _ := w["name"].(string)
		switch {
		case name == "":
			errs = append(errs, fmt.Errorf("%w: automation %d has no name", errArgument, i+1))
			continue
		case seen[name]:
			errs = append(errs, fmt.Errorf("%w: two automations have the name %q", errArgument, name))
			continue
		}
		seen[name] = true
		one := planAutomation(w, byName[name])
		if one.verb != "unchanged" {
			if err := checkAutomation(ctx, s, one.complete()); err != nil {
				errs = append(errs, fmt.Errorf("automation %s: %w", name, err))
			}
		}
		changes = append(changes, one)
	}
	if prune {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			if !seen[name] {
				changes = append(changes, change{verb: "delete", name: name, id: byName[name].id})
			}
		}
	}
	return changes, errors.Join(errs...)
}

// planAutomation compares an automation of a file with the one of its name, whose zero value means that there is none.
func planAutomation(wanted map[string]any, existing currentRecord) change {
	name, _ := wanted["name"].(string)
	if existing.id == "" {
		return change{verb: "create", name: name, body: wanted}
	}
	one := change{verb: "unchanged", name: name, id: existing.id, before: existing.fields, update: http.MethodPut, body: map[string]any{}}
	for field, value := range wanted {
		if !includes(existing.fields[field], value) {
			one.body[field] = value
		}
	}
	if len(one.body) > 0 {
		one.verb = "change"
		one.whole = maps.Clone(existing.fields)
		maps.Copy(one.whole, wanted)
	}
	return one
}

// complete returns the automation as it is after the change.
func (one change) complete() map[string]any {
	if one.whole != nil {
		return one.whole
	}
	return one.body
}

// includes reports whether a value of the server says all that a value of a file says. The server adds defaults to objects, and sorts
// lists of texts that are sets.
func includes(current, wanted any) bool {
	switch w := wanted.(type) {
	case map[string]any:
		have, ok := current.(map[string]any)
		if !ok {
			return len(w) == 0 && current == nil
		}
		for key, value := range w {
			if !includes(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, _ := current.([]any)
		if len(have) != len(w) {
			return false
		}
		if sorted, ok := sortedTexts(w); ok {
			other, ok := sortedTexts(have)
			return ok && reflect.DeepEqual(sorted, other)
		}
		for i := range w {
			if !includes(have[i], w[i]) {
				return false
			}
		}
		return true
	}
	return same(current, wanted)
}

func sortedTexts(list []any) (sorted []string, ok bool) {
	sorted = texts(list)
	slices.Sort(sorted)
	return sorted, len(sorted) == len(list)
}
