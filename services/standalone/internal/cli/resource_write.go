package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// kind is the kind of a field's value.
type kind int

const (
	textField   kind = iota
	numberField      // "none" removes the number.
	switchField      // true or false.
	listField        // Texts; the flag may be repeated.
	jsonField        // JSON; other texts stand for themselves.
	objectField      // NAME=JSON; the flag may be repeated.
	fileField        // The path of a YAML or JSON file with the value.
)

// field is a field that flags of create and update set.
type field struct {
	name        string // The field of the API; a dot separates the field of an object.
	flag, usage string
	kind        kind
	required    bool // By create.
	on          verbs
}

// verbs are the commands that have a field's flag.
type verbs int

const (
	createAndUpdate verbs = iota
	createOnly
	updateOnly
)

// valueFlags are the flags of the fields on one command.
type valueFlags struct {
	cmd    *cobra.Command
	fields []field
	read   map[string]func() (any, error)
}

func newValueFlags(cmd *cobra.Command, fields []field, except verbs) *valueFlags {
	f := &valueFlags{cmd: cmd, read: map[string]func() (any, error){}}
	for _, one := range fields {
		if one.on == except {
			continue
		}
		f.fields = append(f.fields, one)
		f.read[one.flag] = one.define(cmd)
		if one.required && except == updateOnly {
			_ = cmd.MarkFlagRequired(one.flag)
		}
	}
	return f
}

// define adds the flag of a field and returns the function that reads its value.
func (one field) define(cmd *cobra.Command) func() (any, error) {
	flags := cmd.Flags()
	switch one.kind {
	case switchField:
		value := flags.Bool(one.flag, false, one.usage)
		return func() (any, error) { return *value, nil }
	case listField:
		values := flags.StringSlice(one.flag, nil, one.usage+"; several may be given")
		return func() (any, error) { return append([]string{}, *values...), nil }
	case objectField:
		values := flags.StringArray(one.flag, nil, one.usage+", as NAME=JSON; a value that is not JSON is a text; several may be given")
		return func() (any, error) { return readObject(one.flag, *values) }
	case numberField:
		value := flags.String(one.flag, "", one.usage+"; none removes it")
		return func() (any, error) { return readNumber(one.flag, *value) }
	case jsonField:
		value := flags.String(one.flag, "", one.usage+", as JSON; other texts stand for themselves")
		return func() (any, error) { return jsonOrText(*value), nil }
	case fileField:
		path := flags.String(one.flag, "", one.usage+", a YAML or JSON file")
		return func() (any, error) { return readValueFile(*path) }
	default:
		value := flags.String(one.flag, "", one.usage)
		return func() (any, error) { return *value, nil }
	}
}

func readNumber(flag, text string) (any, error) {
	if text == "none" {
		return nil, nil //nolint:nilnil // The API's null removes the number.
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%w: --%s must be a number or none, not %q", errArgument, flag, text)
	}
	return json.Number(text), nil
}

// jsonOrText returns JSON as it is, and another text as itself.
func jsonOrText(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

func readObject(flag string, pairs []string) (map[string]any, error) {
	object := map[string]any{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%w: --%s is like day=1, not %q", errArgument, flag, pair)
		}
		object[name] = jsonOrText(value)
	}
	return object, nil
}

func readValueFile(path string) (any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("%w: read the value of %s: %w", errArgument, path, err)
	}
	return value, nil
}

// body returns the fields whose flags are given.
func (f *valueFlags) body() (map[string]any, error) {
	body := map[string]any{}
	for _, one := range f.fields {
		if !f.cmd.Flags().Changed(one.flag) {
			continue
		}
		value, err := f.read[one.flag]()
		if err != nil {
			return nil, err
		}
		object, steps := body, strings.Split(one.name, ".")
		for _, step := range steps[:len(steps)-1] {
			next, _ := object[step].(map[string]any)
			if next == nil {
				next = map[string]any{}
				object[step] = next
			}
			object = next
		}
		last := steps[len(steps)-1]
		before, isObject := object[last].(map[string]any)
		if more, both := value.(map[string]any); isObject && both { // Two flags of one object.
			maps.Copy(before, more)
			continue
		}
		object[last] = value
	}
	return body, nil
}

// createCommand returns the command create.
func (r *resource) createCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{Use: "create " + r.argument, Short: "Create a " + r.singular(), Args: cobra.ExactArgs(1)}
	flags := newValueFlags(cmd, r.fields, updateOnly)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := flags.body()
		if err != nil {
			return err
		}
		s, err := c.server()
		if err != nil {
			return err
		}
		if err := r.complete(cmd.Context(), s, body); err != nil {
			return err
		}
		answer, err := r.create(cmd.Context(), s, args[0], body)
		if err != nil {
			return fmt.Errorf("create the %s: %w", r.singular(), err)
		}
		if err := r.showOne(c, cmd, s, answer); err != nil {
			return err
		}
		c.sayMadeKey(cmd, answer)
		if r.next != nil {
			if text := r.next(cmd.Context(), s, args[0]); text != "" {
				c.say(cmd, "\n%s", text)
			}
		}
		return nil
	}
	return cmd
}

// updateCommand returns the command update.
func (r *resource) updateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use: "update " + r.argument, Short: "Change a " + r.singular() + "; settings that you do not name stay the same", Args: cobra.ExactArgs(1),
	}
	flags := newValueFlags(cmd, r.fields, createOnly)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := flags.body()
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return fmt.Errorf("%w: no flag says what to change; see %s --help", errArgument, cmd.CommandPath())
		}
		s, path, err := r.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		if err := r.complete(cmd.Context(), s, body); err != nil {
			return err
		}
		if err := r.addCurrent(cmd.Context(), s, path, body, r.kept(body)); err != nil {
			return err
		}
		return r.change(c, cmd, s, path, body)
	}
	return cmd
}

// kept are the fields of a record that a change of some fields must contain: the other values of objects, which the API replaces, and the
// fields that the API requires.
func (r *resource) kept(body map[string]any) []string {
	keep := slices.Clone(r.whole)
	for _, one := range r.fields {
		name, _, nested := strings.Cut(one.name, ".")
		if _, changed := body[name].(map[string]any); changed && (nested || one.kind == objectField) {
			keep = append(keep, name)
		}
	}
	slices.Sort(keep)
	return slices.Compact(keep)
}

// addCurrent adds to a change the fields that it must contain, as the record has them.
func (r *resource) addCurrent(ctx context.Context, s *remote.Server, path string, body map[string]any, keep []string) error {
	if len(keep) == 0 {
		return nil
	}
	answer, err := r.answer(ctx, s, path)
	if err != nil {
		return err
	}
	record, err := decodeRecord(answer)
	if err != nil {
		return err
	}
	for _, name := range keep {
		before, isObject := record[name].(map[string]any)
		changes, both := body[name].(map[string]any)
		switch _, given := body[name]; {
		case isObject && both:
			if r.merge != nil {
				before = r.merge(before, changes)
			}
			maps.Copy(before, changes)
			body[name] = before
		case !given:
			body[name] = record[name]
		}
	}
	return nil
}

// complete changes the fields of a command into those of the API.
func (r *resource) complete(ctx context.Context, s *remote.Server, body map[string]any) error {
	if r.request == nil {
		return nil
	}
	return r.request(ctx, s, body)
}

// change writes fields of the record at a path, and prints it as it is afterwards.
func (r *resource) change(c *connection, cmd *cobra.Command, s *remote.Server, path string, body map[string]any) error {
	if _, err := s.Call(cmd.Context(), http.MethodPatch, path, body); err != nil {
		return fmt.Errorf("change the %s: %w", r.singular(), err)
	}
	if name, renamed := body[nameField].(string); renamed && !strings.HasSuffix(path, "/"+name) {
		renamedPath, err := r.path(cmd.Context(), s, name)
		if err != nil {
			return fmt.Errorf("find the %s: %w", r.singular(), err)
		}
		path = renamedPath
	}
	answer, err := r.answer(cmd.Context(), s, path)
	if err != nil {
		return err
	}
	return r.showOne(c, cmd, s, answer)
}

// enableCommand and disableCommand write the field that activates a record.
func (r *resource) enableCommand(c *connection) *cobra.Command {
	return r.switchCommand(c, "enable", "resume", "Enable a "+r.singular(), !r.inactive)
}

func (r *resource) disableCommand(c *connection) *cobra.Command {
	return r.switchCommand(c, "disable", "pause", "Disable a "+r.singular()+" without deleting it", r.inactive)
}

func (r *resource) switchCommand(c *connection, verb, alias, short string, value bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " " + r.argument, Aliases: []string{alias}, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := r.locate(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return r.change(c, cmd, s, path, map[string]any{r.activity: value})
		},
	}
}

// deleteCommand returns the command delete.
func (r *resource) deleteCommand(c *connection) *cobra.Command {
	short := "Delete a " + r.singular()
	if r.warning != "" {
		short += " " + r.warning
	}
	cmd := &cobra.Command{Use: "delete " + r.argument, Short: short, Args: cobra.ExactArgs(1)}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := r.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Delete the %s %q%s?", r.singular(), args[0], strings.TrimRight(" "+r.warning, " "))
		return c.remove(cmd, s, path, *yes, question, fmt.Sprintf("Deleted the %s %q.", r.singular(), args[0]))
	}
	return cmd
}
