package prefectdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func blocks() []Kind {
	return []Kind{
		{Name: "block types", table: "block_type", resource: &orchv1.BlockType{}, create: &orchv1.BlockTypeCreate{}},
		{Name: "block schemas", table: "block_schema", resource: &orchv1.BlockSchema{}, create: &orchv1.BlockSchemaCreate{}, begin: nestedSchemas},
		{
			Name: "block documents", table: "block_document", resource: &orchv1.BlockDocument{}, create: &orchv1.BlockDocumentCreate{},
			extra: []column{{"t", "data"}}, begin: documentData,
		},
		{
			Name: "default result storage", table: "configuration", where: "t.key = 'server-default-result-storage'",
			resource: &orchv1.ServerDefaultResultStorage{}, extra: []column{{"t", "value"}},
			begin: always(func(m Resource, extra []value) (Resource, error) {
				storage, ok := m.(*orchv1.ServerDefaultResultStorage)
				if !ok {
					return m, nil
				}
				return storage, restjson.Unmarshal([]byte(extra[0].text), storage)
			}),
		},
	}
}

// schemaReference is a block that a field of a schema holds.
type schemaReference struct{ field, slug, checksum string }

// schemas are all schemas, whose fields the database has without the definitions of nested blocks.
type schemas struct {
	references map[string][]schemaReference // By the outer schema's id.
	fields     map[string]string            // By id.
	ids        map[string]string            // By checksum.
}

// nestedSchemas completes schemas with the definitions of the blocks that their fields hold.
func nestedSchemas(ctx context.Context, s *Source) (finish, error) {
	all := schemas{references: map[string][]schemaReference{}, fields: map[string]string{}, ids: map[string]string{}}
	d := s.dialect
	query := "SELECT " + d.text("id", textValue) + ", checksum, " + d.text("fields", jsonValue) + " FROM block_schema ORDER BY created, id"
	err := s.each(ctx, query, func(values []sql.RawBytes) error {
		id, checksum := string(values[0]), string(values[1])
		all.fields[id] = string(values[2])
		if all.ids[checksum] == "" {
			all.ids[checksum] = id
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	query = "SELECT " + d.text("r.parent_block_schema_id", textValue) + `, r.name, b.slug, c.checksum FROM block_schema_reference r
		JOIN block_schema c ON c.id = r.reference_block_schema_id JOIN block_type b ON b.id = c.block_type_id ORDER BY r.created, r.id`
	err = s.each(ctx, query, func(values []sql.RawBytes) error {
		parent := string(values[0])
		all.references[parent] = append(all.references[parent], schemaReference{string(values[1]), string(values[2]), string(values[3])})
		return nil
	})
	return func(m Resource, _ []value) (Resource, error) {
		schema, ok := m.(*orchv1.BlockSchema)
		if !ok {
			return m, nil
		}
		fields, err := all.full(schema.GetId(), 0)
		if err != nil {
			return nil, err
		}
		schema.Fields = jsontree.Text(fields)
		return schema, nil
	}, err
}

// maxNesting bounds the nesting of blocks in a schema.
const maxNesting = 16

// full returns the fields of a schema with its references and the definitions of the blocks that they name.
func (s schemas) full(id string, depth int) (*jsontree.Object, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("the blocks of schema %s are nested too deep", id)
	}
	fields, err := jsontree.ParseObject([]byte(s.fields[id]))
	if err != nil {
		return nil, fmt.Errorf("read the fields of schema %s: %w", id, err)
	}
	references := &jsontree.Object{}
	definitions := fields.Object("definitions")
	if definitions == nil {
		definitions = &jsontree.Object{}
	}
	for _, r := range s.references[id] {
		one := jsontree.NewObject(jsontree.Member{Key: "block_schema_checksum", Value: r.checksum}, jsontree.Member{Key: "block_type_slug", Value: r.slug})
		switch before, there := references.Get(r.field); list := before.(type) {
		case jsontree.List:
			references.Set(r.field, append(list, one))
		default:
			if there {
				references.Set(r.field, jsontree.List{before, one})
			} else {
				references.Set(r.field, one)
			}
		}
		nested, err := s.full(s.ids[r.checksum], depth+1)
		if err != nil {
			return nil, err
		}
		title := nested.Text("title")
		if title == "" {
			continue
		}
		inner := nested.Object("definitions")
		nested.Delete("definitions")
		definitions.Set(title, nested)
		for _, m := range inner.Members() {
			definitions.Set(m.Key, m.Value)
		}
	}
	fields.Set("block_schema_references", references)
	if definitions.Len() > 0 {
		fields.Set("definitions", definitions)
	}
	return fields, nil
}

// documentData decrypts the data of documents, and adds the references to other documents.
func documentData(ctx context.Context, s *Source) (finish, error) {
	type reference struct{ field, document string }
	references := map[string][]reference{}
	d := s.dialect
	query := "SELECT " + d.text("parent_block_document_id", textValue) + ", name, " + d.text("reference_block_document_id", textValue) +
		" FROM block_document_reference ORDER BY created, id"
	err := s.each(ctx, query, func(values []sql.RawBytes) error {
		parent := string(values[0])
		references[parent] = append(references[parent], reference{string(values[1]), string(values[2])})
		return nil
	})
	return func(m Resource, extra []value) (Resource, error) {
		document, ok := m.(*orchv1.BlockDocument)
		if !ok {
			return m, nil
		}
		data, err := s.decrypt(extra[0].text)
		if err != nil {
			return nil, err
		}
		for _, r := range references[document.GetId()] {
			data[r.field] = json.RawMessage(`{"$ref":{"block_document_id":"` + r.document + `"}}`)
		}
		if document.Data, err = json.Marshal(data); err != nil {
			return nil, fmt.Errorf("write the data of the document: %w", err)
		}
		return document, nil
	}, err
}
