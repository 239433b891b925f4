package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// blockType is a type of blocks.
type blockType struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

var blockResource = &resource{
	noun: "block", plural: "blocks", argument: "TYPE/NAME",
	columns: append([]column{fieldColumn("TYPE", "block_type.slug"), fieldColumn("NAME", "name"), fieldColumn("UPDATED", "updated")},
		wideColumns(fieldColumn("ID", "id"), fieldColumn("CREATED", "created"), fieldColumn("SCHEMA", "block_schema.checksum"))...),
	filters: []filter{
		{"type", "blocks of a type, by its slug; several are separated by commas", anyOf("block_types", "slug")},
		{"name", "blocks whose name contains a text", nameLike("block_documents")},
	},
	fields: []field{{name: "data", flag: "set", usage: "a field of the block", kind: objectField}},
	list: func(ctx context.Context, s *remote.Server, query map[string]any, limit int) ([]json.RawMessage, error) {
		addCondition(query, "block_documents", "is_anonymous", "eq_", false)
		return listAt(ctx, s, s.InWorkspace("/block_documents/filter"), query, limit)
	},
	path: func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		slug, name, err := blockName(argument)
		if err != nil {
			return "", err
		}
		id, err := idAt(ctx, s, "/block_types/slug/"+url.PathEscape(slug)+"/block_documents/name/"+url.PathEscape(name))
		if remote.IsStatus(err, http.StatusNotFound) {
			return "", fmt.Errorf("no block of the type %q is named %q", slug, name)
		}
		return s.InWorkspace("/block_documents/" + id), err
	},
	create: func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		slug, name, err := blockName(argument)
		if err != nil {
			return nil, err
		}
		found, err := remote.Read[blockType](ctx, s, http.MethodGet, s.InWorkspace("/block_types/slug/"+url.PathEscape(slug)), nil)
		if remote.IsStatus(err, http.StatusNotFound) {
			slugs, err := blockSlugs(ctx, s)
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("no block type is named %q%s; `orch block types` lists them", slug, suggestion(slug, slugs))
		}
		if err != nil {
			return nil, err
		}
		schemas, err := remote.Read[[]record](ctx, s, http.MethodPost, s.InWorkspace("/block_schemas/filter"), map[string]any{
			"block_schemas": map[string]any{"block_type_id": map[string]any{"any_": []string{found.ID}}}, "limit": 1,
		})
		if err != nil {
			return nil, err
		}
		if len(schemas) == 0 {
			return nil, fmt.Errorf("the block type %q has no schema; a client registers one", slug)
		}
		body["block_type_id"], body["block_schema_id"], body[nameField] = found.ID, schemas[0].ID, name
		if body["data"] == nil {
			body["data"] = map[string]any{}
		}
		return s.Call(ctx, http.MethodPost, s.InWorkspace("/block_documents/"), body)
	},
	details: []string{"block_schema", "block_type"},
	key: func(record map[string]any) string {
		return cmp.Or(plain(record["type"]), plain(at(record, "block_type.slug"))) + "/" + plain(record[nameField])
	},
	fileFields: []string{"type", nameField, "data"}, identityFields: 2,
	fileNote: `

"data_files" names files with the values of fields, relative to the file, such as "data_files: {value: token.txt}". Secrets
are sent for a new block, and with --update-secrets.`,
	exportNote: "Secrets are not exported. A new block needs them in data, or data_files with the files that have them.",
	names: func(_ context.Context, _ *remote.Server, records []map[string]any) error {
		for _, record := range records {
			record["type"] = at(record, "block_type.slug")
		}
		return nil
	},
	merged: "data", secrets: blockSecrets, filePaths: readBlockFiles,
}

// blockSecrets returns the fields of a block whose values are secrets, or have some.
func blockSecrets(record map[string]any) map[string]bool {
	list, _ := at(record, "block_schema.fields.secret_fields").([]any)
	secrets := map[string]bool{}
	for _, path := range texts(list) {
		name, _, _ := strings.Cut(path, ".")
		secrets[name] = true
	}
	return secrets
}

// readBlockFiles replaces data_files by the texts of the files.
func readBlockFiles(dir string, record map[string]any) error {
	files, given := record["data_files"].(map[string]any)
	if !given {
		return nil
	}
	delete(record, "data_files")
	data, _ := record["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
		record["data"] = data
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, isPath, err := secretFile(dir, files, name)
		if err != nil {
			return err
		}
		if _, both := data[name]; both || !isPath {
			return fmt.Errorf("data_files.%s is not the path of a file, or data has the field too", name)
		}
		data[name] = strings.TrimRight(text, "\r\n")
	}
	return nil
}

// blockName separates TYPE/NAME.
func blockName(argument string) (slug, name string, err error) {
	slug, name, both := strings.Cut(argument, "/")
	if !both || slug == "" || name == "" {
		return "", "", fmt.Errorf("%w: %q is not of the form TYPE/NAME", errArgument, argument)
	}
	return slug, name, nil
}

// blockSlugs returns the names of all block types.
func blockSlugs(ctx context.Context, s *remote.Server) ([]string, error) {
	all, err := remote.Read[[]blockType](ctx, s, http.MethodPost, s.InWorkspace("/block_types/filter"), map[string]any{"limit": everyone})
	slugs := make([]string, len(all))
	for i, one := range all {
		slugs[i] = one.Slug
	}
	return slugs, err
}

// withFiles adds --set-file to a command that has --set: the values of fields come from files, so that no secret stands in the
// history of a shell.
func withFiles(command func(*connection) *cobra.Command) func(*connection) *cobra.Command {
	return func(c *connection) *cobra.Command {
		cmd := command(c)
		files := cmd.Flags().StringArray("set-file", nil, "a field of the block, as NAME=PATH of the file with its text; - is standard input; several may be given")
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			for _, one := range *files {
				name, path, ok := strings.Cut(one, "=")
				if !ok || name == "" || path == "" {
					return fmt.Errorf("%w: --set-file is like token=token.txt, not %q", errArgument, one)
				}
				var text []byte
				var err error
				if path == "-" {
					text, err = io.ReadAll(cmd.InOrStdin())
				} else {
					text, err = os.ReadFile(path)
				}
				if err != nil {
					return fmt.Errorf("read --set-file: %w", err)
				}
				value, err := json.Marshal(strings.TrimRight(string(text), "\r\n"))
				if err != nil {
					return fmt.Errorf("read --set-file: %w", err)
				}
				if err := cmd.Flags().Set("set", name+"="+string(value)); err != nil {
					return fmt.Errorf("read --set-file: %w", err)
				}
			}
			return run(cmd, args)
		}
		return cmd
	}
}

func blockTypesCommand(c *connection) *cobra.Command {
	r := &resource{
		noun: "block-type", plural: "block_types", list: listIn("/block_types/filter"),
		columns: append([]column{fieldColumn("TYPE", "slug"), fieldColumn("NAME", "name"), fieldColumn("DESCRIPTION", "description")}, identityColumns()...),
		key:     func(record map[string]any) string { return plain(record["slug"]) },
	}
	cmd := r.listCommand(c)
	cmd.Use = "types"
	return cmd
}

func blockCommand(version string) *cobra.Command {
	r := blockResource
	return remoteCommand(version, &cobra.Command{
		Use: "block", Aliases: []string{"blocks"}, Short: "Manage blocks",
		Long: `Manage blocks. Commands accept TYPE/NAME. Secrets are never printed.`,
		Example: `  orch block create secret/token --set-file value=token.txt
  orch block create slack-webhook/alerts --set-file url=-`,
	}, r.listCommand, blockTypesCommand, r.inspectCommand, withFiles(r.createCommand), withFiles(r.updateCommand), r.applyCommand, r.exportCommand, r.deleteCommand)
}
