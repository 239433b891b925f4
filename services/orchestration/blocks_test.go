package orchestration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// block is a type with a schema.
type block struct {
	kind   *orchv1.BlockType
	schema *orchv1.BlockSchema
}

func (d *domain) blockType(slug string) *orchv1.BlockType {
	d.t.Helper()
	return call[*orchv1.BlockType](d, orchv1.BlockTypeService_CreateBlockType_FullMethodName, &orchv1.CreateBlockTypeRequest{
		BlockType: &orchv1.BlockTypeCreate{Name: "Type " + slug, Slug: slug, Description: proto.String("a < b")},
	})
}

func (d *domain) trySchema(kind *orchv1.BlockType, fields string, capabilities ...string) (*orchv1.BlockSchema, rpc.Reply, error) {
	return try[*orchv1.BlockSchema](d, orchv1.BlockSchemaService_CreateBlockSchema_FullMethodName, &orchv1.CreateBlockSchemaRequest{
		BlockSchema: &orchv1.BlockSchemaCreate{BlockTypeId: kind.GetId(), Fields: []byte(fields), Capabilities: capabilities, Version: "1"},
	})
}

// block makes a type whose documents have the secret field "token", and whatever else.
func (d *domain) block(slug string, capabilities ...string) block {
	d.t.Helper()
	kind := d.blockType(slug)
	schema, _, err := d.trySchema(kind, fmt.Sprintf(`{"block_type_slug":%q,"title":%q,"secret_fields":["token"],"properties":{"token":{}}}`, slug, slug), capabilities...)
	require.NoError(d.t, err)
	return block{kind, schema}
}

func (d *domain) tryDocument(kind block, name, data string, edits ...func(*orchv1.BlockDocumentCreate)) (*orchv1.BlockDocument, error) {
	create := &orchv1.BlockDocumentCreate{BlockTypeId: kind.kind.GetId(), BlockSchemaId: kind.schema.GetId(), Data: []byte(data)}
	if name != "" {
		create.Name = proto.String(name)
	}
	for _, edit := range edits {
		edit(create)
	}
	document, _, err := try[*orchv1.BlockDocument](d, orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName,
		&orchv1.CreateBlockDocumentRequest{BlockDocument: create})
	return document, err
}

func (d *domain) document(kind block, name, data string) *orchv1.BlockDocument {
	d.t.Helper()
	document, err := d.tryDocument(kind, name, data)
	require.NoError(d.t, err)
	return document
}

func (d *domain) tryReadDocument(id string, withSecrets bool) (*orchv1.BlockDocument, error) {
	document, _, err := try[*orchv1.BlockDocument](d, orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName,
		&orchv1.ReadBlockDocumentRequest{Id: id, IncludeSecrets: withSecrets})
	return document, err
}

// data is that of a document as it is read.
func (d *domain) data(id string, withSecrets bool) string {
	d.t.Helper()
	document, err := d.tryReadDocument(id, withSecrets)
	require.NoError(d.t, err)
	return string(document.GetData())
}

func (d *domain) tryUpdateDocument(id string, u *orchv1.BlockDocumentUpdate, mask ...string) error {
	_, err := tryIgnored(d, orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName,
		&orchv1.UpdateBlockDocumentRequest{Id: id, BlockDocument: u, UpdateMask: sentFields(u, mask...)})
	return err
}

func ref(document *orchv1.BlockDocument) string {
	return fmt.Sprintf(`{"$ref":{"block_document_id":%q}}`, document.GetId())
}

func (d *domain) typeOfSlug(slug string) *orchv1.BlockType {
	d.t.Helper()
	return call[*orchv1.BlockType](d, orchv1.BlockTypeService_ReadBlockTypeBySlug_FullMethodName, &orchv1.ReadBlockTypeBySlugRequest{Slug: slug})
}

func TestSystemBlockTypesAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, _, _ = try[*orchv1.BlockTypeList](d, orchv1.BlockTypeService_ReadBlockTypes_FullMethodName, &orchv1.ReadBlockTypesRequest{})
		})
	}
	group.Wait()
	types := call[*orchv1.BlockTypeList](d, orchv1.BlockTypeService_ReadBlockTypes_FullMethodName, &orchv1.ReadBlockTypesRequest{}).GetBlockTypes()
	require.Greater(t, len(types), 10)
	for i := range types[1:] {
		require.Less(t, types[i].GetName(), types[i+1].GetName())
	}
	secret := d.typeOfSlug("secret")
	require.True(t, secret.GetIsProtected())
	schemas := call[*orchv1.BlockSchemaList](d, orchv1.BlockSchemaService_ReadBlockSchemas_FullMethodName, &orchv1.ReadBlockSchemasRequest{
		Query: &orchv1.BlockSchemaQuery{BlockSchemas: &orchv1.BlockSchemaFilter{
			BlockTypeId: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{secret.GetId()}}},
		}},
	}).GetBlockSchemas()
	require.Len(t, schemas, 1)
	require.True(t, proto.Equal(secret, schemas[0].GetBlockType()))
	for _, c := range []struct {
		method string
		r      proto.Message
	}{
		{orchv1.BlockTypeService_DeleteBlockType_FullMethodName, &orchv1.DeleteBlockTypeRequest{Id: secret.GetId()}},
		{orchv1.BlockSchemaService_DeleteBlockSchema_FullMethodName, &orchv1.DeleteBlockSchemaRequest{Id: schemas[0].GetId()}},
	} {
		t.Run(c.method, func(t *testing.T) {
			_, err := tryIgnored(d, c.method, c.r)
			code, _ := status(err)
			require.Equal(t, http.StatusForbidden, code)
		})
	}
	capabilities := call[*orchv1.BlockCapabilities](d, orchv1.BlockCapabilityService_ReadBlockCapabilities_FullMethodName, &emptypb.Empty{})
	require.ElementsMatch(t, []string{"notify", "read-path", "write-path", "get-directory", "put-directory"}, capabilities.GetCapabilities())

	// A client says what it knows of a type; installing again says what the server does.
	update := &orchv1.BlockTypeUpdate{Description: proto.String("mine"), LogoUrl: proto.String("http://x")}
	_, err := tryIgnored(d, orchv1.BlockTypeService_UpdateBlockType_FullMethodName,
		&orchv1.UpdateBlockTypeRequest{Id: secret.GetId(), BlockType: update, UpdateMask: sentFields(update)})
	require.NoError(t, err)
	require.Equal(t, "mine", d.typeOfSlug("secret").GetDescription())
	_, err = tryIgnored(d, orchv1.BlockTypeService_DeleteBlockType_FullMethodName, &orchv1.DeleteBlockTypeRequest{Id: d.typeOfSlug("smb").GetId()})
	require.NoError(t, err)
	_, err = tryIgnored(d, orchv1.BlockTypeService_InstallSystemBlockTypes_FullMethodName, &emptypb.Empty{})
	require.NoError(t, err)
	require.Equal(t, secret.GetDescription(), d.typeOfSlug("secret").GetDescription())
	require.Nil(t, d.typeOfSlug("secret").LogoUrl)
	d.typeOfSlug("smb")
}

func TestBlockTypes(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kind := d.blockType("mine")
	require.Equal(t, "a < b", kind.GetDescription(), "texts come back as they were sent")
	for _, c := range []struct {
		name, slug string
		want       int
	}{
		{"Other", "mine", http.StatusConflict},
		{"Orch Thing", "thing", http.StatusForbidden},
		{"Other", "Mine", http.StatusUnprocessableEntity},
		{"Other", "a_b", http.StatusUnprocessableEntity},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := try[*orchv1.BlockType](d, orchv1.BlockTypeService_CreateBlockType_FullMethodName,
				&orchv1.CreateBlockTypeRequest{BlockType: &orchv1.BlockTypeCreate{Name: c.name, Slug: c.slug}})
			code, _ := status(err)
			require.Equal(t, c.want, code, c.slug)
		})
	}
	read := call[*orchv1.BlockType](d, orchv1.BlockTypeService_ReadBlockType_FullMethodName, &orchv1.ReadBlockTypeRequest{Id: kind.GetId()})
	require.True(t, proto.Equal(kind, read))
	d.happened("orch.block-type.created", "orch.block-type."+kind.GetId())

	notify := &orchv1.BlockSchemaFilter{BlockCapabilities: &orchv1.AllStringFilter{All_: &orchv1.StringList{Values: []string{"notify"}}}}
	list := call[*orchv1.BlockTypeList](d, orchv1.BlockTypeService_ReadBlockTypes_FullMethodName, &orchv1.ReadBlockTypesRequest{
		Query: &orchv1.BlockTypeQuery{
			BlockTypes: &orchv1.BlockTypeFilter{Name: &orchv1.LikeFilter{Like_: proto.String("SLACK")}}, BlockSchemas: notify,
		},
	}).GetBlockTypes()
	require.Len(t, list, 1)
	require.Equal(t, "slack-webhook", list[0].GetSlug())

	_, _, err := try[*orchv1.BlockType](d, orchv1.BlockTypeService_ReadBlockTypeBySlug_FullMethodName, &orchv1.ReadBlockTypeBySlugRequest{Slug: "unknown"})
	code, text := status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Block type not found", text)
}

func TestDeletingABlockTypeDeletesItsDocuments(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b, other := d.block("gone"), d.block("stays")
	document := d.document(b, "a", `{}`)
	parent := d.document(other, "p", fmt.Sprintf(`{"a":%s,"b":1}`, ref(document)))
	_, err := tryIgnored(d, orchv1.BlockTypeService_DeleteBlockType_FullMethodName, &orchv1.DeleteBlockTypeRequest{Id: b.kind.GetId()})
	require.NoError(t, err)
	_, err = d.tryReadDocument(document.GetId(), false)
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code)
	_, _, err = try[*orchv1.BlockSchema](d, orchv1.BlockSchemaService_ReadBlockSchema_FullMethodName, &orchv1.ReadBlockSchemaRequest{Id: b.schema.GetId()})
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, `{"b":1}`, d.data(parent.GetId(), true), "who refers to it lacks the field")
	for _, name := range []string{"block-type." + b.kind.GetId(), "block-document." + document.GetId()} {
		kind, _, _ := strings.Cut(name, ".")
		d.happened("orch."+kind+".deleted", "orch."+name)
	}

	_, err = tryIgnored(d, orchv1.BlockSchemaService_DeleteBlockSchema_FullMethodName, &orchv1.DeleteBlockSchemaRequest{Id: other.schema.GetId()})
	require.NoError(t, err)
	_, err = d.tryReadDocument(parent.GetId(), false)
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "stays", d.typeOfSlug("stays").GetSlug())
}

func TestBlockSchemaIsKnownByItsChecksum(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kind := d.blockType("mine")
	const fields = `{"title":"Mine","properties":{"a":{"type":"string","position":0}}}`
	created, reply, err := d.trySchema(kind, fields)
	require.NoError(t, err)
	require.NotEqual(t, http.StatusOK, reply.Status)
	again, reply, err := d.trySchema(kind, `{"properties":{"a":{"position":0,"type":"string"}},"title":"Mine","secret_fields":["a"]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, reply.Status, "the order of keys does not count, nor what is secret")
	require.Equal(t, created.GetId(), again.GetId())
	require.JSONEq(t, `{"title":"Mine","properties":{"a":{"type":"string","position":0}},"block_schema_references":{}}`, string(created.GetFields()))

	byChecksum := func(version *string) (*orchv1.BlockSchema, error) {
		schema, _, err := try[*orchv1.BlockSchema](d, orchv1.BlockSchemaService_ReadBlockSchemaByChecksum_FullMethodName,
			&orchv1.ReadBlockSchemaByChecksumRequest{Checksum: created.GetChecksum(), Version: version})
		return schema, err
	}
	newer := call[*orchv1.BlockSchema](d, orchv1.BlockSchemaService_CreateBlockSchema_FullMethodName, &orchv1.CreateBlockSchemaRequest{
		BlockSchema: &orchv1.BlockSchemaCreate{BlockTypeId: kind.GetId(), Fields: []byte(fields), Version: "2"},
	})
	require.Equal(t, created.GetChecksum(), newer.GetChecksum())
	for version, want := range map[string]string{"": newer.GetId(), "1": created.GetId(), "2": newer.GetId(), "3": ""} {
		asked := &version
		if version == "" {
			asked = nil
		}
		schema, err := byChecksum(asked)
		if want == "" {
			code, text := status(err)
			require.Equal(t, http.StatusNotFound, code)
			require.Equal(t, "Block schema not found", text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, schema.GetId())
		require.True(t, proto.Equal(kind, schema.GetBlockType()))
	}
	_, _, err = d.trySchema(&orchv1.BlockType{Id: uuid.NewString()}, fields)
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code)
}

func TestNestedBlockSchemasAreRegistered(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	outer := d.blockType("outer")
	const fields = `{"title":"Outer","properties":{"i":{"anyOf":[{"$ref":"#/definitions/Inner"},{"type":"null"}]}},
		"block_schema_references":{"i":{"block_type_slug":"inner","block_schema_checksum":"sha256:unknown"}},
		"definitions":{"Inner":{"title":"Inner","block_type_slug":"inner","properties":{"c":{"$ref":"#/definitions/Colour"}},"block_schema_references":{}},
			"Colour":{"enum":["red"]}}}`
	_, _, err := d.trySchema(outer, fields)
	code, text := status(err)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, text, "'inner' was not found")

	inner := d.blockType("inner")
	schema, _, err := d.trySchema(outer, fields)
	require.NoError(t, err)
	schemas := call[*orchv1.BlockSchemaList](d, orchv1.BlockSchemaService_ReadBlockSchemas_FullMethodName, &orchv1.ReadBlockSchemasRequest{
		Query: &orchv1.BlockSchemaQuery{BlockSchemas: &orchv1.BlockSchemaFilter{
			BlockTypeId: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{inner.GetId()}}},
		}},
	}).GetBlockSchemas()
	require.Len(t, schemas, 1)
	require.JSONEq(t, `{"title":"Inner","block_type_slug":"inner","properties":{"c":{"$ref":"#/definitions/Colour"}},"block_schema_references":{},
		"definitions":{"Colour":{"enum":["red"]}}}`, string(schemas[0].GetFields()))

	// A schema that was sent without the definition gets it, once the nested one is known.
	bare := fmt.Sprintf(`{"title":"Bare","properties":{"i":{"$ref":"#/definitions/Inner"}},
		"block_schema_references":{"i":[{"block_type_slug":"inner","block_schema_checksum":%q}]}}`, schemas[0].GetChecksum())
	completed, _, err := d.trySchema(outer, bare)
	require.NoError(t, err)
	require.Contains(t, string(completed.GetFields()), `"definitions":{"Inner":`)
	require.NotEqual(t, schema.GetChecksum(), completed.GetChecksum())

	for _, bad := range []string{
		`{"properties":{"i":{"$ref":"#/definitions/Missing"}},"block_schema_references":{"i":{"block_type_slug":"inner","block_schema_checksum":"x"}}}`,
		`{"properties":{"i":{"$ref":"#/definitions/A"}},"block_schema_references":{"i":{"block_type_slug":"inner","block_schema_checksum":"x"}},
			"definitions":{"A":{"block_type_slug":"inner","n":1,"properties":{"i":{"$ref":"#/definitions/A"}},
				"block_schema_references":{"i":{"block_type_slug":"inner","block_schema_checksum":"y"}}}}}`,
	} {
		_, _, err = d.trySchema(outer, bad)
		code, _ = status(err)
		require.Equal(t, http.StatusConflict, code, bad)
	}
}

func TestSecretsOfDocumentsAreObfuscatedUnlessAskedFor(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b := d.block("b")
	const data = `{"token":"canary-secret","z":1.50,"a":{"b":[]}}`
	const shown = `{"token":"********","z":1.50,"a":{"b":[]}}`
	created := d.document(b, "doc", data)
	require.Equal(t, shown, string(created.GetData()))
	require.Equal(t, "Type b", created.GetBlockTypeName())
	require.True(t, proto.Equal(b.kind, created.GetBlockType()))
	require.True(t, proto.Equal(b.schema, created.GetBlockSchema()))
	require.Equal(t, shown, d.data(created.GetId(), false))
	require.Equal(t, data, d.data(created.GetId(), true))
	byName := call[*orchv1.BlockDocument](d, orchv1.BlockDocumentService_ReadBlockDocumentByName_FullMethodName,
		&orchv1.ReadBlockDocumentByNameRequest{Slug: "b", BlockDocumentName: "doc", IncludeSecrets: true})
	require.Equal(t, data, string(byName.GetData()))
	for _, withSecrets := range []bool{false, true} {
		want := map[bool]string{false: shown, true: data}[withSecrets]
		list := call[*orchv1.BlockDocumentList](d, orchv1.BlockDocumentService_ReadBlockDocumentsOfType_FullMethodName,
			&orchv1.ReadBlockDocumentsOfTypeRequest{Slug: "b", IncludeSecrets: withSecrets}).GetBlockDocuments()
		require.Len(t, list, 1)
		require.Equal(t, want, string(list[0].GetData()))
		list = call[*orchv1.BlockDocumentList](d, orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName,
			&orchv1.ReadBlockDocumentsRequest{Query: &orchv1.BlockDocumentQuery{IncludeSecrets: withSecrets}}).GetBlockDocuments()
		require.Len(t, list, 1)
		require.Equal(t, want, string(list[0].GetData()))
	}
	d.happened("orch.block-document.created", "orch.block-document."+created.GetId())
	require.NotContains(t, d.stored(), "canary-secret", "nothing that is stored holds it, no event either")
}

// stored is everything in the database, as text.
func (d *domain) stored() string {
	d.t.Helper()
	database := d.store.Connect()
	names, err := database.ListCollectionNames(d.t.Context(), bson.D{})
	require.NoError(d.t, err)
	var all strings.Builder
	for _, name := range names {
		cursor, err := database.Collection(name).Find(d.t.Context(), bson.D{})
		require.NoError(d.t, err)
		for cursor.Next(d.t.Context()) {
			all.Write(cursor.Current)
		}
		require.NoError(d.t, cursor.Close(d.t.Context()))
	}
	require.NotEmpty(d.t, all.String())
	return all.String()
}

func TestSealedDocumentsNeedTheirKey(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	document := d.document(d.block("b"), "doc", `{"token":"x"}`)
	other, err := orchestration.New(t.Context(), orchestration.Config{
		MongoDBURI: d.store.URI, MongoDBDatabase: d.store.Name, Secrets: keys(t),
	}, orchestration.Deps{Broker: d.broker, Dialer: d.store.Dialer})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close(t.Context())) }()
	local := rpc.NewLocal(other.Interceptors()...)
	other.Register(local)
	_, _, err = local.Call(in(t, request.DefaultWorkspace), orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName,
		&orchv1.ReadBlockDocumentRequest{Id: document.GetId()})
	code, _ := status(err)
	require.Equal(t, http.StatusInternalServerError, code)
}

func TestDocumentsAreChangedInPart(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b := d.block("b")
	id := d.document(b, "doc", `{"token":"x","a":1,"b":2}`).GetId()
	update := func(data string, merge ...bool) {
		t.Helper()
		u := &orchv1.BlockDocumentUpdate{Data: []byte(data)}
		if len(merge) > 0 {
			u.MergeExistingData = merge[0]
			require.NoError(t, d.tryUpdateDocument(id, u, "data", "merge_existing_data"))
			return
		}
		require.NoError(t, d.tryUpdateDocument(id, u, "data"))
	}
	update(`{"token":"********","a":3}`)
	require.Equal(t, `{"token":"x","a":3,"b":2}`, d.data(id, true), "what is sent back obfuscated stays")
	update(`{"token":"y"}`, true)
	require.Equal(t, `{"token":"y","a":3,"b":2}`, d.data(id, true))
	update(`{"token":"********","c":1}`, false)
	require.Equal(t, `{"token":"y","c":1}`, d.data(id, true))
	require.NoError(t, d.tryUpdateDocument(id, &orchv1.BlockDocumentUpdate{}, "merge_existing_data"))
	require.Equal(t, `{}`, d.data(id, true), "nothing was sent, and nothing was to stay")
	d.happened("orch.block-document.updated", "orch.block-document."+id)

	before, err := d.tryReadDocument(id, false)
	require.NoError(t, err)
	update(`{}`)
	after, err := d.tryReadDocument(id, false)
	require.NoError(t, err)
	require.True(t, proto.Equal(before, after), "nothing changes, not even the time")

	newer, _, err := d.trySchema(b.kind, `{"title":"newer","secret_fields":["a"]}`)
	require.NoError(t, err)
	update(`{"a":"q","token":"t"}`)
	require.NoError(t, d.tryUpdateDocument(id, &orchv1.BlockDocumentUpdate{BlockSchemaId: proto.String(newer.GetId())}))
	require.Equal(t, `{"a":"********","token":"t"}`, d.data(id, false), "the newer schema says what is secret")
	for schema, want := range map[string]int{d.block("other").schema.GetId(): http.StatusBadRequest, uuid.NewString(): http.StatusNotFound} {
		code, _ := status(d.tryUpdateDocument(id, &orchv1.BlockDocumentUpdate{BlockSchemaId: proto.String(schema)}))
		require.Equal(t, want, code)
	}
	code, _ := status(d.tryUpdateDocument(uuid.NewString(), &orchv1.BlockDocumentUpdate{}))
	require.Equal(t, http.StatusNotFound, code)
}

func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b, other := d.block("b"), d.block("other")
	d.document(b, "taken", `{}`)
	d.document(other, "taken", `{}`)
	for name, c := range map[string]struct {
		block      block
		name, data string
		want       int
		text       string
	}{
		"taken":          {b, "taken", `{}`, http.StatusConflict, "Block already exists"},
		"no name":        {b, "", `{}`, http.StatusUnprocessableEntity, ""},
		"name":           {b, "A b", `{}`, http.StatusUnprocessableEntity, ""},
		"type":           {block{&orchv1.BlockType{Id: uuid.NewString()}, b.schema}, "x", `{}`, http.StatusNotFound, "not found"},
		"schema":         {block{b.kind, &orchv1.BlockSchema{Id: uuid.NewString()}}, "x", `{}`, http.StatusNotFound, "not found"},
		"another schema": {block{b.kind, other.schema}, "x", `{}`, http.StatusBadRequest, "not one of"},
		"no reference":   {b, "x", `{"a":{"$ref":{}}}`, http.StatusBadRequest, "key a"},
		"reference":      {b, "x", `{"a":` + ref(&orchv1.BlockDocument{Id: uuid.NewString()}) + `}`, http.StatusConflict, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.tryDocument(c.block, c.name, c.data)
			code, text := status(err)
			require.Equal(t, c.want, code, name)
			require.Contains(t, text, c.text, name)
		})
	}
}

func TestReferencesAreResolved(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b := d.block("b")
	leaf := d.document(b, "leaf", `{"token":"t1","v":1}`)
	middle := d.document(b, "middle", fmt.Sprintf(`{"leaf":%s,"token":"t2"}`, ref(leaf)))
	top := d.document(b, "top", fmt.Sprintf(`{"token":%s,"first":%s,"x":true}`, ref(middle), ref(leaf)))
	require.Equal(t, `{"token":{"leaf":{"token":"t1","v":1},"token":"t2"},"first":{"token":"t1","v":1},"x":true}`, d.data(top.GetId(), true))
	require.Equal(t, `{"token":{"leaf":{"token":"********","v":1},"token":"********"},"first":{"token":"********","v":1},"x":true}`, d.data(top.GetId(), false))
	read, err := d.tryReadDocument(top.GetId(), false)
	require.NoError(t, err)
	var described struct {
		BlockDocument struct {
			ID, Name                string
			BlockType               struct{ Slug string } `json:"block_type"`
			BlockDocumentReferences map[string]any        `json:"block_document_references"`
		} `json:"block_document"`
	}
	require.NoError(t, json.Unmarshal(read.GetBlockDocumentReferences()["token"], &described))
	require.Equal(t, middle.GetId(), described.BlockDocument.ID)
	require.Equal(t, "middle", described.BlockDocument.Name)
	require.Equal(t, "b", described.BlockDocument.BlockType.Slug)
	require.Contains(t, described.BlockDocument.BlockDocumentReferences, "leaf")

	// The change is seen through the reference; a reference that is not sent stays.
	require.NoError(t, d.tryUpdateDocument(leaf.GetId(), &orchv1.BlockDocumentUpdate{Data: []byte(`{"v":2}`)}))
	require.NoError(t, d.tryUpdateDocument(top.GetId(), &orchv1.BlockDocumentUpdate{Data: []byte(`{"x":false}`)}))
	require.Equal(t, `{"token":{"leaf":{"token":"t1","v":2},"token":"t2"},"first":{"token":"t1","v":2},"x":false}`, d.data(top.GetId(), true))

	for _, circle := range []*orchv1.BlockDocument{leaf, middle, top} {
		code, text := status(d.tryUpdateDocument(leaf.GetId(), &orchv1.BlockDocumentUpdate{Data: []byte(`{"up":` + ref(circle) + `}`)}))
		require.Equal(t, http.StatusBadRequest, code, circle.GetName())
		require.Contains(t, text, "itself")
	}
	_, err = tryIgnored(d, orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName, &orchv1.DeleteBlockDocumentRequest{Id: leaf.GetId()})
	require.NoError(t, err)
	require.Equal(t, `{"token":{"token":"t2"},"x":false}`, d.data(top.GetId(), true))
}

// TestReferencesThatDoubleAreRefused: each document refers to the next one twice, so that the last would hold 2^n of them.
func TestReferencesThatDoubleAreRefused(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b := d.block("b")
	last := d.document(b, "d0", `{}`)
	for i := range 12 {
		last = d.document2(b, fmt.Sprintf("d%d", i+1), fmt.Sprintf(`{"a":%s,"b":%s}`, ref(last), ref(last)))
		if last == nil {
			return
		}
	}
	t.Fatal("a document that holds thousands of others was answered")
}

// document2 is a document, or nil when it pulls in too much.
func (d *domain) document2(kind block, name, data string) *orchv1.BlockDocument {
	d.t.Helper()
	document, err := d.tryDocument(kind, name, data)
	if code, _ := status(err); err != nil && code == http.StatusBadRequest {
		return nil
	}
	require.NoError(d.t, err)
	return document
}

func TestDocumentsAreFilteredAndCounted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	b, writes := d.block("b"), d.block("a", "write-path", "read-path")
	d.document(b, "two", `{}`)
	d.document(b, "one", `{}`)
	d.document(writes, "three", `{}`)
	anonymous, err := d.tryDocument(b, "", `{}`, func(c *orchv1.BlockDocumentCreate) { c.IsAnonymous = true })
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(anonymous.GetName(), "anonymous-"))
	read := func(q *orchv1.BlockDocumentQuery) string {
		t.Helper()
		var names []string
		list := call[*orchv1.BlockDocumentList](d, orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName, &orchv1.ReadBlockDocumentsRequest{Query: q})
		for _, document := range list.GetBlockDocuments() {
			names = append(names, strings.Split(document.GetName(), "-")[0])
		}
		if q != nil && q.Sort == nil {
			count := call[*orchv1.CountResponse](d, orchv1.BlockDocumentService_CountBlockDocuments_FullMethodName, &orchv1.CountBlockDocumentsRequest{
				Query: &orchv1.BlockDocumentCountQuery{BlockDocuments: q.GetBlockDocuments(), BlockTypes: q.GetBlockTypes(), BlockSchemas: q.GetBlockSchemas()},
			}).GetCount()
			require.Len(t, names, int(count))
		}
		return strings.Join(names, " ")
	}
	require.Equal(t, "one three two", read(nil))
	for sort, want := range map[orchv1.BlockDocumentSort]string{
		orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_NAME_DESC:               "two three one",
		orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_BLOCK_TYPE_AND_NAME_ASC: "three one two",
		orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_CREATED_DESC:            "three one two",
	} {
		require.Equal(t, want, read(&orchv1.BlockDocumentQuery{Sort: sort.Enum()}))
	}
	for _, c := range []struct {
		q    *orchv1.BlockDocumentQuery
		want string
	}{
		{&orchv1.BlockDocumentQuery{BlockDocuments: &orchv1.BlockDocumentFilter{}}, "anonymous one three two"},
		{&orchv1.BlockDocumentQuery{BlockDocuments: &orchv1.BlockDocumentFilter{IsAnonymous: &orchv1.BoolFilter{Eq_: proto.Bool(true)}}}, "anonymous"},
		{&orchv1.BlockDocumentQuery{BlockDocuments: &orchv1.BlockDocumentFilter{Name: &orchv1.NameFilter{Like_: proto.String("T")}}}, "three two"},
		{&orchv1.BlockDocumentQuery{BlockTypes: &orchv1.BlockTypeFilter{Slug: &orchv1.AnyStringFilter{Any_: &orchv1.StringList{Values: []string{"b"}}}}}, "one two"},
		{&orchv1.BlockDocumentQuery{BlockSchemas: &orchv1.BlockSchemaFilter{
			BlockCapabilities: &orchv1.AllStringFilter{All_: &orchv1.StringList{Values: []string{"read-path", "write-path"}}},
		}}, "three"},
		{&orchv1.BlockDocumentQuery{Limit: &orchv1.PageLimit{Value: 1}, Offset: 1, Sort: orchv1.BlockDocumentSort_BLOCK_DOCUMENT_SORT_NAME_ASC.Enum()}, "three"},
	} {
		t.Run(c.want, func(t *testing.T) {
			require.Equal(t, c.want, read(c.q))
		})
	}
}

func TestDefaultResultStorageIsABlockThatKeepsResults(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	read := func() *orchv1.ServerDefaultResultStorage {
		return call[*orchv1.ServerDefaultResultStorage](d, orchv1.AdminService_ReadServerDefaultResultStorage_FullMethodName, &emptypb.Empty{})
	}
	set := func(block string) error {
		_, _, err := try[*orchv1.ServerDefaultResultStorage](d, orchv1.AdminService_UpdateServerDefaultResultStorage_FullMethodName,
			&orchv1.UpdateServerDefaultResultStorageRequest{Storage: &orchv1.ServerDefaultResultStorageUpdate{DefaultResultStorageBlockId: block}})
		return err
	}
	require.Nil(t, read().DefaultResultStorageBlockId)
	_, err := tryIgnored(d, orchv1.AdminService_ClearServerDefaultResultStorage_FullMethodName, &emptypb.Empty{})
	require.NoError(t, err)
	code, _ := status(set(uuid.NewString()))
	require.Equal(t, http.StatusNotFound, code)
	code, _ = status(set(d.document(d.block("none"), "x", `{}`).GetId()))
	require.Equal(t, http.StatusUnprocessableEntity, code)
	storage := d.block("storage", "write-path")
	for _, name := range []string{"one", "two"} {
		block := d.document(storage, name, `{}`).GetId()
		require.NoError(t, set(block))
		require.Equal(t, block, read().GetDefaultResultStorageBlockId())
	}
	_, err = tryIgnored(d, orchv1.AdminService_ClearServerDefaultResultStorage_FullMethodName, &emptypb.Empty{})
	require.NoError(t, err)
	require.Nil(t, read().DefaultResultStorageBlockId)
	block := d.document(storage, "three", `{}`).GetId()
	require.NoError(t, set(block))
	_, err = tryIgnored(d, orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName, &orchv1.DeleteBlockDocumentRequest{Id: block})
	require.NoError(t, err)
	require.Nil(t, read().DefaultResultStorageBlockId, "a block that is gone keeps nothing")
}

func TestDeploymentsNameBlocksThatExist(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("f")
	document := d.document(d.block("b"), "x", `{}`).GetId()
	create := func(edit func(*orchv1.DeploymentCreate)) error {
		deployment := &orchv1.DeploymentCreate{Name: uuid.NewString(), FlowId: flow.GetId()}
		edit(deployment)
		_, _, err := try[*orchv1.Deployment](d, orchv1.DeploymentService_CreateDeployment_FullMethodName,
			&orchv1.CreateDeploymentRequest{Deployment: deployment, UpdateMask: sentFields(deployment)})
		return err
	}
	for _, set := range []func(*orchv1.DeploymentCreate, string){
		func(c *orchv1.DeploymentCreate, id string) { c.StorageDocumentId = proto.String(id) },
		func(c *orchv1.DeploymentCreate, id string) { c.InfrastructureDocumentId = proto.String(id) },
	} {
		require.NoError(t, create(func(c *orchv1.DeploymentCreate) { set(c, document) }))
		code, text := status(create(func(c *orchv1.DeploymentCreate) { set(c, uuid.NewString()) }))
		require.Equal(t, http.StatusConflict, code)
		require.Contains(t, text, "Could not find")
	}
}
