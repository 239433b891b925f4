package pages

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// blockPages are the list of blocks, the page of one, and the forms made from the schemas of their types.
func blockPages() []page.Page {
	return []page.Page{
		{Pattern: "/blocks", Section: "/blocks", Needs: []string{orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName}, Show: showBlocks},
		{
			Pattern: "/blocks/new", Section: "/blocks",
			Needs: []string{
				orchv1.BlockTypeService_ReadBlockTypes_FullMethodName, orchv1.BlockTypeService_ReadBlockTypeBySlug_FullMethodName,
				orchv1.BlockSchemaService_ReadBlockSchemas_FullMethodName, orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName,
			},
			Uses: []string{orchv1.UiSchemaService_ValidateObj_FullMethodName}, Show: showNewBlock,
			Actions: []page.Action{{Name: "block-create", Calls: []string{orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName}, Done: "The block is created.", Do: createBlock}},
		},
		{
			Pattern: "/blocks/block/{id}", Section: "/blocks",
			Needs: []string{orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName}, Show: showBlock,
			Actions: []page.Action{{Name: "block-delete", Calls: []string{orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName}, Done: "The block is deleted.", Do: deleteBlock}},
		},
		{
			Pattern: "/blocks/block/{id}/edit", Section: "/blocks",
			Needs: []string{orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName, orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName},
			Show:  showBlockEdit,
			Actions: []page.Action{{
				Name: "block-edit", Calls: []string{orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName}, Done: "The block is changed.", Do: editBlock,
			}},
		},
	}
}

func showBlocks(r *page.Request) (page.View, error) {
	skip := r.Int("skip", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	blocks := apicall.New[*orchv1.BlockDocumentList](orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": param50 + 1, "offset": skip}})
	if err := r.Call(blocks); err != nil {
		return page.View{}, err
	}
	list, more := cut(blocks.Result().GetBlockDocuments(), param50)
	v := listView{Title: "Blocks", Table: table{Columns: []string{"Block", "Type", "Updated"}, Empty: "No block. Blocks hold configuration and secrets that flows and automations use."}}
	for _, b := range list {
		v.Table.add(link(r.To("blocks", "block", b.GetId()), b.GetName()), text(b.GetBlockType().GetName()), timeCell(r, b.GetUpdated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	if r.May(orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName, orchv1.BlockTypeService_ReadBlockTypes_FullMethodName) {
		v.Links = append(v.Links, tab{Title: "New block", Path: r.To("blocks", "new")})
	}
	return page.View{Title: "Blocks", Template: "list.html", Data: v}, nil
}

// showBlock shows a block with masked secrets.
func showBlock(r *page.Request) (page.View, error) {
	b, err := readBlock(r)
	if err != nil {
		return page.View{}, err
	}
	v := detailView{
		Kind: "Block", Title: show.Line(b.GetName(), 80), ID: show.ID(b.GetId()),
		Pairs: pairs(
			pair{"Type", text(b.GetBlockType().GetName())}, pair{"Name in code", text(b.GetBlockType().GetSlug() + "/" + b.GetName())},
			pair{"Created", timeCell(r, b.GetCreated())}, pair{"Updated", timeCell(r, b.GetUpdated())},
		),
		Panels: []panel{{Title: "Data, secrets masked", Body: show.JSON(b.GetData())}},
	}
	if r.May(orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName) {
		v.Links = append(v.Links, tab{Title: "Edit", Path: r.To("blocks", "block", b.GetId(), "edit")})
	}
	if r.May(orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "block-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func readBlock(r *page.Request) (*orchv1.BlockDocument, error) {
	block := apicall.New[*orchv1.BlockDocument](orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName, apicall.ID(r.Vars["id"]))
	err := r.Call(block)
	return block.Result(), err
}

// blockForm is the data of the form of a block.
type blockForm struct {
	schemaForm
	Title, Path, Back, Action, Button string
	// Name is the input of a new block; a block keeps its name.
	Name    string
	HasName bool
	Version []hiddenField
	Text    string
}

func (f blockForm) view() page.View {
	return page.View{Status: f.status(), Title: f.Title, Template: "block_form.html", Data: f}
}

// showNewBlock lists the types, or shows the form of the type in the address.
func showNewBlock(r *page.Request) (page.View, error) {
	slug := r.Text("type")
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	if slug != "" {
		form, _, err := newBlockForm(r, slug)
		return form.view(), err
	}
	types := apicall.New[*orchv1.BlockTypeList](orchv1.BlockTypeService_ReadBlockTypes_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": 200}})
	if err := r.Call(types); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "New block", Intro: "Choose its type.", Table: table{Columns: []string{"Type", "Description"}, Empty: "No block type. Clients register types."}}
	list := slices.Clone(types.Result().GetBlockTypes())
	slices.SortFunc(list, func(a, b *orchv1.BlockType) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, one := range list {
		v.Table.add(link(r.Here("type", one.GetSlug()), one.GetName()), text(one.GetDescription()))
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

// newBlockForm builds the form of a new block from the latest schema of its type.
func newBlockForm(r *page.Request, slug string) (blockForm, *orchv1.BlockSchema, error) {
	blockType := apicall.New[*orchv1.BlockType](orchv1.BlockTypeService_ReadBlockTypeBySlug_FullMethodName, apicall.Input{Path: map[string]string{"slug": slug}})
	if err := r.Call(blockType); err != nil {
		return blockForm{}, nil, err
	}
	schemas := apicall.New[*orchv1.BlockSchemaList](orchv1.BlockSchemaService_ReadBlockSchemas_FullMethodName, apicall.Input{Body: apicall.JSON{
		"block_schemas": apicall.JSON{"block_type_id": any_([]string{blockType.Result().GetId()})}, "limit": 1,
	}})
	if err := r.Call(schemas); err != nil {
		return blockForm{}, nil, err
	}
	if len(schemas.Result().GetBlockSchemas()) == 0 {
		return blockForm{}, nil, &page.NotFound{What: "schema of the block type"}
	}
	schema := schemas.Result().GetBlockSchemas()[0]
	return blockForm{
		schemaForm: newSchemaForm(r, formSchema(schema.GetFields()), jsontree.NewObject()), HasName: true,
		Title: "New block: " + show.Line(blockType.Result().GetName(), 80), Text: show.Line(blockType.Result().GetDescription(), 300),
		Path: r.Here(), Back: r.To("blocks", "new"), Action: "block-create", Button: "Create the block",
	}, schema, nil
}

// formSchema prepares the schema of a block for a form: secrets are inputs that do not show their value, and other blocks are JSON that
// names them.
func formSchema(fields []byte) []byte {
	schema, err := jsontree.ParseObject(fields)
	if err != nil {
		return fields
	}
	properties := schema.Object("properties")
	for _, m := range schema.Object("block_schema_references").Members() {
		declared, _ := m.Value.(*jsontree.Object)
		reference := jsontree.NewObject()
		reference.Set("title", titleOf(properties.Object(m.Key), m.Key))
		reference.Set("description", strings.TrimSpace(`A block: {"$ref": {"block_document_id": "ID"}} `+declared.Text("block_type_slug")))
		properties.Set(m.Key, reference)
	}
	secrets, _ := member(schema, "secret_fields").(jsontree.List)
	for _, one := range secrets {
		name, _, _ := strings.Cut(plain(one), ".")
		property, exists := properties.Get(name)
		if !exists {
			continue
		}
		declared, _ := property.(*jsontree.Object)
		secret := jsontree.NewObject()
		secret.Set("title", titleOf(declared, name))
		secret.Set("description", declared.Text("description"))
		secret.Set("type", "string")
		secret.Set("format", "password")
		if strings.Contains(plain(one), ".") || declared.Text("type") == "object" {
			secret.Delete("type") // Its value is JSON.
			secret.Set("description", strings.TrimSpace(declared.Text("description")+" JSON with secrets. An empty field keeps them."))
		}
		properties.Set(name, secret)
	}
	return jsontree.Text(schema)
}

func titleOf(property *jsontree.Object, name string) string {
	if title := property.Text("title"); title != "" {
		return title
	}
	return name
}

// withoutSecrets returns the data of a block for a form: secret fields have no value, and other blocks are references.
func withoutSecrets(b *orchv1.BlockDocument) *jsontree.Object {
	values, err := jsontree.ParseObject(b.GetData())
	if err != nil {
		return jsontree.NewObject()
	}
	schema, err := jsontree.ParseObject(b.GetBlockSchema().GetFields())
	if err != nil {
		return values
	}
	secrets, _ := member(schema, "secret_fields").(jsontree.List)
	for _, one := range secrets {
		name, _, _ := strings.Cut(plain(one), ".")
		if _, nested := member(values, name).(*jsontree.Object); nested {
			values.Delete(name)
		}
	}
	for name, reference := range b.GetBlockDocumentReferences() {
		document, err := jsontree.ParseObject(reference)
		if err != nil {
			continue
		}
		id := document.Object("block_document").Text("id")
		to, ref := jsontree.NewObject(), jsontree.NewObject()
		to.Set("block_document_id", id)
		ref.Set("$ref", to)
		values.Set(name, ref)
	}
	return values
}

func createBlock(r *page.Request) (page.View, error) {
	form, schema, err := newBlockForm(r, r.Text("type"))
	if err != nil {
		return page.View{}, err
	}
	form.Name = r.Field("name")
	data, ok := form.read(r)
	if !ok {
		return form.view(), nil
	}
	created := apicall.New[*orchv1.BlockDocument](orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName, apicall.Input{Body: apicall.JSON{
		"name": form.Name, "data": rawJSON(jsontree.Text(data)), "block_schema_id": schema.GetId(), "block_type_id": schema.GetBlockTypeId(),
	}})
	if err := r.Call(created); err != nil {
		return form.refused(err)
	}
	return r.Done(r.To("blocks", "block", created.Result().GetId()), "block-create", -1), nil
}

// refused shows the form again with the reason why the server refused its values. Other errors are returned.
func (f blockForm) refused(err error) (page.View, error) {
	if status := rpc.HTTPError(err).GetStatus(); status != http.StatusUnprocessableEntity && status != http.StatusConflict || errors.Is(err, apicall.ErrNotAllowed) {
		return page.View{}, err
	}
	f.Errors = append(f.Errors, page.Problem(err))
	return f.view(), nil
}

func blockEditForm(r *page.Request) (blockForm, *orchv1.BlockDocument, error) {
	b, err := readBlock(r)
	if err != nil {
		return blockForm{}, nil, err
	}
	f := blockForm{
		schemaForm: newSchemaForm(r, formSchema(b.GetBlockSchema().GetFields()), withoutSecrets(b)),
		Title:      "Edit " + show.Line(b.GetName(), 80), Text: "An empty field of a secret keeps its value.",
		Path: r.Here(), Back: r.To("blocks", "block", b.GetId()), Action: "block-edit", Button: "Save the block", Version: versionField(b.GetUpdated()),
	}
	for i := range f.Fields {
		if f.Fields[i].Kind == kindPassword {
			f.Fields[i].Required = false
		}
	}
	return f, b, nil
}

func showBlockEdit(r *page.Request) (page.View, error) {
	form, _, err := blockEditForm(r)
	if err != nil {
		return page.View{}, err
	}
	return form.view(), nil
}

func editBlock(r *page.Request) (page.View, error) {
	form, b, err := blockEditForm(r)
	if err != nil {
		return page.View{}, err
	}
	data, ok := form.read(r)
	if changedMeanwhile(r, b.GetUpdated()) {
		form.Errors = append(form.Errors, meanwhile+"The page of the block shows its values. Saving again replaces them.")
		return form.view(), nil
	}
	if !ok {
		return form.view(), nil
	}
	if err := r.Call(changed(orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName, apicall.Input{
		Path: map[string]string{"id": r.Vars["id"]}, Body: apicall.JSON{"data": rawJSON(jsontree.Text(data)), "merge_existing_data": true},
	})); err != nil {
		return form.refused(err)
	}
	return r.Done(form.Back, "block-edit", -1), nil
}

func deleteBlock(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the block?", Action: "block-delete", Button: "Delete the block", Text: "Flows, deployments and automations that use it fail. Its secrets are lost.",
		}), nil
	}
	if err := r.Call(changed(orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("blocks"), "block-delete", -1), nil
}
