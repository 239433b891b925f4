package blocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// nestedBlock is a block that a field of a schema may hold.
type nestedBlock struct{ field, slug, checksum string }

// nestedBlocks lists the blocks that the references of a schema name: one per field, or several alternatives.
func nestedBlocks(fields *jsontree.Object) []nestedBlock {
	references := fields.Object("block_schema_references")
	if references == nil {
		return nil
	}
	var found []nestedBlock
	add := func(field string, v jsontree.Value) {
		if reference, ok := v.(*jsontree.Object); ok {
			found = append(found, nestedBlock{field, reference.Text("block_type_slug"), reference.Text("block_schema_checksum")})
		}
	}
	for _, m := range references.Members() {
		if choices, ok := m.Value.(jsontree.List); ok {
			for _, choice := range choices {
				add(m.Key, choice)
			}
			continue
		}
		add(m.Key, m.Value)
	}
	return found
}

// maxNesting bounds the nesting depth of blocks in one schema, because definitions may reference each other in a cycle.
const maxNesting = 16

// registerNested stores the missing schemas of nested blocks from the definitions of the outer schema, and completes
// missing definitions from stored schemas. The types of nested blocks must exist.
func (s *Service) registerNested(ctx context.Context, ws uuid.UUID, fields *jsontree.Object, depth int) error {
	if depth > maxNesting {
		return rpc.Detail(http.StatusConflict, "Cannot create block schema because blocks are nested too deep in it.")
	}
	nested := nestedBlocks(fields)
	if fields.Object("block_schema_references") == nil {
		fields.Set("block_schema_references", &jsontree.Object{})
	}
	for _, block := range nested {
		blockType, err := s.typeBySlug(ctx, ws, block.slug)
		if errors.Is(err, store.ErrNotFound) {
			return rpc.Detail(http.StatusConflict, fmt.Sprintf(
				"Cannot create block schema because block type '%s' was not found. Did you forget to register the block type?", block.slug))
		}
		if err != nil {
			return err
		}
		existing, err := s.schemas.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "checksum", Value: block.checksum}}, Sort: newestFirst, Limit: 1})
		if err != nil {
			return err
		}
		if len(existing) > 0 {
			if err := define(fields, existing[0]); err != nil {
				return err
			}
			continue
		}
		definition := definitionOf(fields, block)
		if definition == nil {
			return rpc.Detail(http.StatusConflict, fmt.Sprintf(
				"Cannot create block schema because it lacks the definition of the nested block type '%s'.", block.slug))
		}
		// A definition includes the other definitions that it references.
		own := definition.Clone()
		if needed := neededDefinitions(definition, fields.Object("definitions")); needed.Len() > 0 {
			own.Set("definitions", needed)
		}
		child := &orchv1.BlockSchema{
			Id: s.schemas.Store().NewID().String(), BlockTypeId: proto.String(blockType.GetId()), Version: nonVersioned,
		}
		if _, _, err := s.register(ctx, ws, child, own, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// newestFirst sorts the newest schema of a checksum first.
var newestFirst = bson.D{{Key: "created", Value: -1}, {Key: "_id", Value: -1}}

// definitionOf returns the definition of a nested block: the one with its slug among those that the field references.
func definitionOf(fields *jsontree.Object, block nestedBlock) *jsontree.Object {
	property, _ := fields.Object("properties").Get(block.field)
	definitions := fields.Object("definitions")
	names := referenced(property, nil)
	for _, name := range names {
		if definition := definitions.Object(name); definition != nil && (len(names) == 1 || definition.Text("block_type_slug") == block.slug) {
			return definition
		}
	}
	return nil
}

// neededDefinitions returns the definitions that a value references, directly or transitively.
func neededDefinitions(v jsontree.Value, definitions *jsontree.Object) *jsontree.Object {
	needed := &jsontree.Object{}
	var follow func(v jsontree.Value)
	follow = func(v jsontree.Value) {
		for _, name := range referenced(v, nil) {
			definition, there := definitions.Get(name)
			if _, seen := needed.Get(name); !there || seen {
				continue
			}
			needed.Set(name, definition)
			follow(definition)
		}
	}
	follow(v)
	return needed
}

// define adds the definition of a stored nested block to a schema that lacks it.
func define(fields *jsontree.Object, nested *orchv1.BlockSchema) error {
	definition, err := jsontree.ParseObject(nested.GetFields())
	if err != nil {
		return fmt.Errorf("read the fields of block schema %s: %w", nested.GetId(), err)
	}
	title := definition.Text("title")
	definitions := fields.Object("definitions")
	if _, there := definitions.Get(title); there || title == "" {
		return nil // Without a title nothing can reference it.
	}
	if definitions == nil {
		definitions = &jsontree.Object{}
	}
	own := definition.Object("definitions")
	definition.Delete("definitions")
	definitions.Set(title, definition)
	for _, m := range own.Members() {
		if _, there := definitions.Get(m.Key); !there {
			definitions.Set(m.Key, m.Value)
		}
	}
	fields.Set("definitions", definitions)
	return nil
}
