package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// resource is a kind of record that the API lists, shows and changes. It declares what differs between kinds; the files resource_*.go have the
// verbs, which are the same for all.
type resource struct {
	noun     string // The command: "work-pool".
	plural   string // The key of a list in files, and the records in sentences: "work_pools".
	argument string // The argument that identifies a record, in usages: "WORK-POOL".
	columns  []column
	filters  []filter
	fields   []field

	// page is the default number of records that ls prints; 0 means all.
	page int
	// latest reads the records of files; nil for list.
	latest func(ctx context.Context, s *remote.Server) ([]json.RawMessage, error)
	// list reads the records that a query of the filters selects, or all if limit is 0.
	list func(ctx context.Context, s *remote.Server, query map[string]any, limit int) ([]json.RawMessage, error)
	// path returns the path of the record that an argument identifies.
	path func(ctx context.Context, s *remote.Server, argument string) (string, error)
	// read returns the record at a path; nil if the API has it by GET.
	read func(ctx context.Context, s *remote.Server, path string) (json.RawMessage, error)
	// create writes a new record and returns it. The argument of the command identifies it.
	create func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error)
	// next returns the advice that create prints after it made a record, empty for none; nil for kinds without advice.
	next func(ctx context.Context, s *remote.Server, name string) string
	// request changes the fields of a command into those of the API; nil if they are the same.
	request func(ctx context.Context, s *remote.Server, body map[string]any) error
	// activity is the field that enable and disable write; inactive reports that true means disabled.
	activity string
	inactive bool
	// warning tells what else a deletion removes.
	warning string

	// fileFields are the fields of a record in a file for apply, in their order. The first identityFields of them, or the first one,
	// identify it.
	fileFields     []string
	identityFields int
	// fileNote ends the help of apply, and exportNote begins the file of export.
	fileNote, exportNote string
	// names adds the fields of files that records have in another form, and facts those of tables alone; nil if there are none.
	names, facts func(ctx context.Context, s *remote.Server, records []map[string]any) error
	// merge returns what remains of an object of a record beside its changes; nil for all of it.
	merge func(before, changes map[string]any) map[string]any
	// lifecycle is the kind of the record in the events of its changes; empty for a kind whose changes inspect does not name.
	lifecycle string
	// details are the fields that only programs read: inspect leaves them out for people.
	details []string
	// filePaths replaces the paths of a record in a file by the texts of their files; nil for a kind without such paths.
	filePaths func(dir string, record map[string]any) error
	// merged is the field with an object that the API merges, and secrets returns the members of the object whose values the server never
	// shows; empty and nil for none.
	merged  string
	secrets func(record map[string]any) map[string]bool
	// owned reports whether another record owns a record, so that files do not have it; nil for none.
	owned func(record map[string]any) bool
	// whole are the fields that each change must contain.
	whole []string
	// key returns the text that identifies a record in files and tables.
	key func(record map[string]any) string
}

// nameField is the field of a record's name.
const nameField = "name"

// column is a column of a table. Wide columns stand only in the wide form of the table.
type column struct {
	head string
	wide bool
	text func(record map[string]any) string
}

// fieldColumn returns a column of a field; a dot separates the field of an object in a record.
func fieldColumn(head, path string) column {
	return column{head: head, text: func(record map[string]any) string { return plain(at(record, path)) }}
}

// secondsColumn returns a column of a duration in seconds, without those that are zero.
func secondsColumn(head, path string) column {
	return column{head: head, text: func(record map[string]any) string {
		seconds, err := strconv.ParseFloat(plain(at(record, path)), 64)
		if err != nil || seconds <= 0 {
			return ""
		}
		return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond).String()
	}}
}

// wideColumns marks columns as parts of the wide form.
func wideColumns(columns ...column) []column {
	for i := range columns {
		columns[i].wide = true
	}
	return columns
}

// identityColumns are the last columns of each wide table.
func identityColumns() []column {
	return wideColumns(fieldColumn("ID", "id"), fieldColumn("CREATED", "created"), fieldColumn("UPDATED", "updated"))
}

// at returns the value at a path in a record; nil if there is none.
func at(record map[string]any, path string) any {
	var value any = record
	for _, step := range strings.Split(path, ".") {
		object, _ := value.(map[string]any)
		value = object[step]
	}
	return value
}

// plain returns a value of a record as the text of a cell: lists are separated by commas, times have seconds, other objects are JSON.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return t.Format(time.RFC3339)
		}
		return v
	case []any:
		if list := texts(v); len(list) == len(v) {
			return strings.Join(list, ", ")
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// decodeRecord decodes a record with its numbers as the server wrote them.
func decodeRecord(text json.RawMessage) (map[string]any, error) {
	record := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&record); err != nil {
		return nil, fmt.Errorf("decode response: %w", err)
	}
	return record, nil
}

// name returns the text that identifies a record.
func (r *resource) name(record map[string]any) string {
	if r.key != nil {
		return r.key(record)
	}
	return plain(record[nameField])
}

// singular is the noun in sentences.
func (r *resource) singular() string { return strings.ReplaceAll(r.noun, "-", " ") }

// show prints records of the resource in the output format. Names and facts that the caller may not read are left out.
func (r *resource) show(c *connection, cmd *cobra.Command, s *remote.Server, answers []json.RawMessage) error {
	if c.output == outputJSON {
		return printRecords(cmd.OutOrStdout(), answers)
	}
	records := make([]map[string]any, len(answers))
	for i, text := range answers {
		var err error
		if records[i], err = decodeRecord(text); err != nil {
			return err
		}
	}
	for _, add := range []func(context.Context, *remote.Server, []map[string]any) error{r.names, r.facts} {
		if add != nil && !c.quiet {
			_ = add(cmd.Context(), s, records)
		}
	}
	form := tableForm[map[string]any]{name: r.name, id: func(record map[string]any) string { return cmp.Or(plain(record["id"]), r.name(record)) }}
	var columns []column
	for _, one := range r.columns {
		if !one.wide || c.output == outputWide {
			columns, form.head = append(columns, one), append(form.head, one.head)
		}
	}
	form.row = func(record map[string]any) []string {
		cells := make([]string, len(columns))
		for i, one := range columns {
			cells[i] = one.text(record)
		}
		return cells
	}
	return printTable(c, cmd, form, records)
}

// showOne prints a record as a table of one row, or as one object.
func (r *resource) showOne(c *connection, cmd *cobra.Command, s *remote.Server, answer json.RawMessage) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	return r.show(c, cmd, s, []json.RawMessage{answer})
}

// answer reads the record at a path.
func (r *resource) answer(ctx context.Context, s *remote.Server, path string) (json.RawMessage, error) {
	if r.read != nil {
		return r.read(ctx, s, path)
	}
	return s.Call(ctx, http.MethodGet, path, nil)
}

// readFromList returns the read function of records that the API only lists: the last step of the path is the value of a field.
func readFromList(method, operation, field string) func(context.Context, *remote.Server, string) (json.RawMessage, error) {
	return func(ctx context.Context, s *remote.Server, path string) (json.RawMessage, error) {
		at := strings.LastIndex(path, "/")
		wanted, err := url.PathUnescape(path[at+1:])
		if err != nil {
			return nil, fmt.Errorf("read the path %s: %w", path, err)
		}
		answers, err := listOf(ctx, s, method, path[:at]+operation)
		if err != nil {
			return nil, err
		}
		for _, text := range answers {
			record, err := decodeRecord(text)
			if err != nil {
				return nil, err
			}
			if plain(record[field]) == wanted {
				return text, nil
			}
		}
		return nil, &remote.Error{Status: http.StatusNotFound, Detail: "not found"}
	}
}

// listOf reads all records of a list that is read by GET or by a filter.
func listOf(ctx context.Context, s *remote.Server, method, path string) ([]json.RawMessage, error) {
	if method == http.MethodGet {
		return remote.Read[[]json.RawMessage](ctx, s, method, path, nil)
	}
	return list(ctx, s, path)
}

// listIn returns the list function of a filter operation of the workspace.
func listIn(path string) func(context.Context, *remote.Server, map[string]any, int) ([]json.RawMessage, error) {
	return func(ctx context.Context, s *remote.Server, query map[string]any, limit int) ([]json.RawMessage, error) {
		return listAt(ctx, s, s.InWorkspace(path), query, limit)
	}
}

// listInAccount is listIn for a filter operation of the account.
func listInAccount(path string) func(context.Context, *remote.Server, map[string]any, int) ([]json.RawMessage, error) {
	return func(ctx context.Context, s *remote.Server, query map[string]any, limit int) ([]json.RawMessage, error) {
		in, err := account(ctx, s)
		if err != nil {
			return nil, err
		}
		return listAt(ctx, s, "/accounts/"+in+path, query, limit)
	}
}

// listAt reads a page of a filter operation, or all pages if limit is 0.
func listAt(ctx context.Context, s *remote.Server, path string, query map[string]any, limit int) ([]json.RawMessage, error) {
	if limit == 0 {
		return listAll(ctx, s, path, query)
	}
	query["limit"] = limit
	return remote.Read[[]json.RawMessage](ctx, s, http.MethodPost, path, query)
}

// foundIn returns the path function of records that an id or a unique name identifies.
func foundIn(collection, kind string) func(context.Context, *remote.Server, string) (string, error) {
	return func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		id, err := find(ctx, s, s.InWorkspace(collection), kind, argument)
		return s.InWorkspace(collection + "/" + id), err
	}
}

// foundInAccount is foundIn for records of the account.
func foundInAccount(collection, kind string) func(context.Context, *remote.Server, string) (string, error) {
	return func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		in, err := account(ctx, s)
		if err != nil {
			return "", err
		}
		id, err := find(ctx, s, "/accounts/"+in+collection, kind, argument)
		return "/accounts/" + in + collection + "/" + id, err
	}
}

// namedIn returns the path function of records that the API finds by name. names reads all of them for a suggestion.
func namedIn(noun, collection string, names names) func(context.Context, *remote.Server, string) (string, error) {
	return func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		path := s.InWorkspace(collection + "/" + url.PathEscape(argument))
		if _, err := s.Call(ctx, http.MethodGet, path, nil); !remote.IsStatus(err, http.StatusNotFound) {
			return path, err
		}
		all, err := names(ctx, s)
		if err != nil {
			return "", err
		}
		return "", fmt.Errorf("no %s is named %q%s", noun, argument, suggestion(argument, all))
	}
}

// createIn returns the create function of records with a name.
func createIn(collection string) func(context.Context, *remote.Server, string, map[string]any) (json.RawMessage, error) {
	return func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		body[nameField] = argument
		return s.Call(ctx, http.MethodPost, s.InWorkspace(collection+"/"), body)
	}
}

// createInAccount is createIn for records of the account, which a field identifies.
func createInAccount(collection, field string) func(context.Context, *remote.Server, string, map[string]any) (json.RawMessage, error) {
	return func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		in, err := account(ctx, s)
		if err != nil {
			return nil, err
		}
		body[field] = argument
		return s.Call(ctx, http.MethodPost, "/accounts/"+in+collection+"/", body)
	}
}
