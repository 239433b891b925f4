package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// filter is a flag of ls that selects records.
type filter struct {
	flag, usage string
	// add writes the condition into the query of the list.
	add func(ctx context.Context, s *remote.Server, query map[string]any, value string) error
}

// anyOf returns the condition that a field of a kind of record has one of the values of a flag, which commas separate.
func anyOf(kind, field string) func(context.Context, *remote.Server, map[string]any, string) error {
	return func(_ context.Context, _ *remote.Server, query map[string]any, value string) error {
		addCondition(query, kind, field, "any_", strings.Split(value, ","))
		return nil
	}
}

// addCondition adds a condition on a field to a query; a dot in the field separates an object in it.
func addCondition(query map[string]any, kind, field, operator string, value any) {
	object, _ := query[kind].(map[string]any)
	if object == nil {
		object = map[string]any{}
		query[kind] = object
	}
	steps := strings.Split(field, ".")
	for _, step := range steps {
		next, _ := object[step].(map[string]any)
		if next == nil {
			next = map[string]any{}
			object[step] = next
		}
		object = next
	}
	object[operator] = value
}

// listCommand returns the command ls.
func (r *resource) listCommand(c *connection) *cobra.Command {
	plural := strings.ReplaceAll(r.plural, "_", " ")
	cmd := &cobra.Command{Use: "ls", Short: "List the " + plural, Args: cobra.NoArgs}
	values := make([]*string, len(r.filters))
	for i, one := range r.filters {
		values[i] = cmd.Flags().String(one.flag, "", one.usage)
	}
	limit := new(int)
	if r.page > 0 {
		limit = cmd.Flags().Int("limit", r.page, fmt.Sprintf("the maximum number of %s, at most %d", plural, everyone))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.page > 0 && (*limit < 1 || *limit > everyone) {
			return fmt.Errorf("%w: --limit must be 1 to %d", errArgument, everyone)
		}
		s, err := c.server()
		if err != nil {
			return err
		}
		query := map[string]any{}
		for i, one := range r.filters {
			if cmd.Flags().Changed(one.flag) {
				if err := one.add(cmd.Context(), s, query, *values[i]); err != nil {
					return fmt.Errorf("list the %s: %w", plural, err)
				}
			}
		}
		pageSize := *limit
		if pageSize > 0 {
			pageSize = min(pageSize+1, everyone) // One more tells whether there are more.
		}
		records, err := r.list(cmd.Context(), s, query, pageSize)
		if err != nil {
			return err
		}
		more := *limit > 0 && (len(records) > *limit || len(records) == everyone)
		if more {
			records = records[:min(*limit, len(records))]
		}
		if err := r.show(c, cmd, s, records); err != nil {
			return err
		}
		if more {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "There may be more %s: narrow the list, or raise --limit, at most to %d.\n", plural, everyone)
		}
		return nil
	}
	return cmd
}

// inspectCommand returns the command inspect.
func (r *resource) inspectCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect " + r.argument,
		Short: "Show one " + r.singular() + " with all fields",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := r.locate(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			answer, err := r.answer(cmd.Context(), s, path)
			if err != nil {
				return fmt.Errorf("read the %s %q: %w", r.singular(), args[0], err)
			}
			if err := c.inspect(cmd, answer, r.details...); err != nil {
				return err
			}
			if r.lifecycle != "" && c.output != outputJSON {
				c.sayLastChange(cmd, s, r.lifecycle, answer)
			}
			return nil
		},
	}
}

// locate returns the server and the path of the record that an argument identifies.
func (r *resource) locate(ctx context.Context, c *connection, argument string) (*remote.Server, string, error) {
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	path, err := r.path(ctx, s, argument)
	if err != nil {
		return nil, "", fmt.Errorf("find the %s: %w", r.singular(), err)
	}
	return s, path, nil
}

// inspect prints one record: for people its facts in two columns, then its objects and long texts below their names, without what is
// empty and without the named fields; for programs as JSON or YAML.
func (c *connection) inspect(cmd *cobra.Command, answer json.RawMessage, without ...string) error {
	out := cmd.OutOrStdout()
	switch c.output {
	case outputJSON:
		return printJSON(out, answer)
	case outputName:
		record, err := decodeRecord(answer)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, plain(record[nameField]))
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(answer, &document); err != nil { // JSON is YAML.
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return printJSON(out, answer)
	}
	return printFacts(out, document.Content[0], without)
}

// printFacts prints the fields of a record that have a value.
func printFacts(out io.Writer, record *yaml.Node, without []string) error {
	facts := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var blocks bytes.Buffer
	for i := 0; i+1 < len(record.Content); i += 2 {
		label, value := factLabel(record.Content[i].Value), record.Content[i+1]
		removeEmpty(value)
		switch {
		case empty(value), slices.Contains(without, record.Content[i].Value):
		case value.Kind == yaml.ScalarNode && !strings.Contains(value.Value, "\n"):
			fmt.Fprintf(facts, "%s\t%s\n", label, printable(value.Value))
		case value.Kind == yaml.ScalarNode:
			fmt.Fprintf(&blocks, "\n%s\n%s\n", label, indented(printable(value.Value)))
		case value.Kind == yaml.SequenceNode && allScalars(value):
			list := make([]string, len(value.Content))
			for i, item := range value.Content {
				list[i] = item.Value
			}
			fmt.Fprintf(facts, "%s\t%s\n", label, printable(strings.Join(list, ", ")))
		default:
			blockStyle(value)
			var text strings.Builder
			encoder := yaml.NewEncoder(&text)
			encoder.SetIndent(2)
			if err := encoder.Encode(value); err != nil {
				return fmt.Errorf("print %s: %w", label, err)
			}
			fmt.Fprintf(&blocks, "\n%s\n%s\n", label, indented(printable(strings.TrimRight(text.String(), "\n"))))
		}
	}
	if err := facts.Flush(); err != nil {
		return err
	}
	_, err := blocks.WriteTo(out)
	return err
}

// factLabel returns the name of a field as people write it.
func factLabel(field string) string {
	words := strings.Split(strings.TrimSuffix(field, "_"), "_")
	for i, word := range words {
		switch word {
		case "id", "api", "url", "pid":
			words[i] = strings.ToUpper(word)
		case "openapi":
			words[i] = "OpenAPI"
		}
	}
	label := strings.Join(words, " ")
	if label == "" {
		return field
	}
	return strings.ToUpper(label[:1]) + label[1:]
}

// empty reports whether a value says nothing.
func empty(value *yaml.Node) bool {
	if value.Kind == yaml.ScalarNode {
		return value.Tag == "!!null" || value.Value == ""
	}
	return len(value.Content) == 0
}

// removeEmpty removes the fields without a value from an object and from those in it.
func removeEmpty(value *yaml.Node) {
	for _, child := range value.Content {
		removeEmpty(child)
	}
	if value.Kind != yaml.MappingNode {
		return
	}
	kept := value.Content[:0]
	for i := 0; i+1 < len(value.Content); i += 2 {
		if !empty(value.Content[i+1]) {
			kept = append(kept, value.Content[i], value.Content[i+1])
		}
	}
	value.Content = kept
}

func allScalars(list *yaml.Node) bool {
	for _, item := range list.Content {
		if item.Kind != yaml.ScalarNode || strings.Contains(item.Value, "\n") {
			return false
		}
	}
	return true
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
