package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// change is what apply does with one record.
type change struct {
	verb   string // create, change, delete or unchanged
	name   string
	id     string         // of an existing record
	body   map[string]any // the fields to send
	before map[string]any // the fields as they are
	shown  map[string]any // the fields to send as people may read them; nil for all
	// update is the method of a change; whole is its body, if that has more than the fields that change.
	update string
	whole  map[string]any
}

// currentRecord is a record of the server, with the fields that a file may set.
type currentRecord struct {
	id     string
	name   string
	fields map[string]any
	// secrets are the members of the merged field that the server never shows.
	secrets map[string]bool
}

// uniqueNames returns records by name. Apply recognizes records by name, so it refuses two of one name.
func uniqueNames(records []currentRecord, collection string) (map[string]currentRecord, error) {
	byName := map[string]currentRecord{}
	for _, r := range records {
		if _, twice := byName[r.name]; twice {
			return nil, fmt.Errorf("several %s have the name %q; rename or delete all but one", collection, r.name)
		}
		byName[r.name] = r
	}
	return byName, nil
}

// applyChanges prints the changes of the records of a collection, and sends them unless dryRun is set.
func (c *connection) applyChanges(cmd *cobra.Command, collection string, changes []change, dryRun, yes bool, send func(context.Context, change) error) error {
	for _, one := range changes {
		c.showChange(cmd, one)
	}
	if dryRun {
		return nil
	}
	if slices.ContainsFunc(changes, func(one change) bool { return one.verb == "delete" }) {
		if err := confirm(cmd, yes, fmt.Sprintf("Delete the %s that the file does not name?", collection)); err != nil {
			return err
		}
	}
	for i, one := range changes {
		if err := send(cmd.Context(), one); err != nil {
			return fmt.Errorf("%s %s %s: %w; the %d %s before it are applied, and apply can be repeated", one.verb, strings.TrimSuffix(collection, "s"), one.name, err, i, collection)
		}
	}
	return nil
}

// showChange prints a change with the fields before and after it, without secrets.
func (c *connection) showChange(cmd *cobra.Command, one change) {
	c.say(cmd, "%-9s %s", one.verb, one.name)
	if one.verb != "change" {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(one.body)) {
		after := one.body[field]
		if one.shown != nil {
			after = one.shown[field]
		}
		if verification, ok := after.(map[string]any); ok {
			after = withoutSecrets(verification)
		}
		if field == "verify_token" {
			c.say(cmd, "  + %s: (secret)", field)
			continue
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

// sendTo returns the function that sends the changes of records of a collection of the workspace.
func sendTo(s *remote.Server, collection string) func(context.Context, change) error {
	path := s.InWorkspace("/" + collection + "/")
	return func(ctx context.Context, one change) error {
		var err error
		switch one.verb {
		case "create":
			_, err = s.Call(ctx, http.MethodPost, path, one.body)
		case "change":
			body := one.whole
			if body == nil {
				body = one.body
			}
			_, err = s.Call(ctx, one.update, path+one.id, body)
		case "delete":
			_, err = s.Call(ctx, http.MethodDelete, path+one.id, nil)
		}
		return err
	}
}

// decodeRecords decodes one YAML document with a list of records below the key, and nothing else: a misspelled key must not look like an
// empty list, because apply --prune would delete all records.
func decodeRecords(text []byte, key string) ([]map[string]any, error) {
	var document map[string]yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, other := range slices.Sorted(maps.Keys(document)) {
		if other != key {
			return nil, fmt.Errorf("unknown key %q; the file has one list, %q", other, key)
		}
	}
	node := document[key]
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("it has no list %q; write %q for none", key, key+": []")
	}
	var records []map[string]any
	if err := node.Decode(&records); err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("it has more than one document"), err)
	}
	return records, nil
}

// writeRecords prints records below a key as a YAML file for apply, with the fields in their order.
func writeRecords(out io.Writer, key, comment string, fields []string, records []map[string]any) error {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	document := &yaml.Node{Kind: yaml.MappingNode, HeadComment: comment, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, list}}
	for _, record := range records {
		item := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range fields {
			value, set := record[name]
			if !set {
				continue
			}
			label, node := &yaml.Node{}, &yaml.Node{}
			if err := errors.Join(label.Encode(name), node.Encode(value)); err != nil {
				return fmt.Errorf("write %s: %w", key, err)
			}
			item.Content = append(item.Content, label, node)
		}
		list.Content = append(list.Content, item)
	}
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return encoder.Close()
}
