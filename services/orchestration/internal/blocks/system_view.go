package blocks

import (
	"encoding/json"
	"fmt"
	"sync"
)

// viewedType is a system type in the view of types by package, with its released schema.
type viewedType struct {
	Name             string       `json:"name"`
	Slug             string       `json:"slug"`
	Description      string       `json:"description"`
	LogoURL          *string      `json:"logo_url"`
	DocumentationURL *string      `json:"documentation_url"`
	CodeExample      *string      `json:"code_example"`
	IsProtected      bool         `json:"is_protected"`
	Schema           systemSchema `json:"block_schema"`
}

// SystemView returns the server's own types by package and slug, as JSON.
var SystemView = sync.OnceValue(func() []byte {
	type collection struct {
		Types map[string]viewedType `json:"block_types"`
	}
	packages := map[string]collection{}
	for _, t := range systemTypes() {
		if packages[t.Package].Types == nil {
			packages[t.Package] = collection{map[string]viewedType{}}
		}
		packages[t.Package].Types[t.Slug] = viewedType{
			Name: t.Name, Slug: t.Slug, Description: t.Description, DocumentationURL: t.DocumentationURL, IsProtected: t.IsProtected,
			Schema: t.released(),
		}
	}
	view, err := json.Marshal(packages)
	if err != nil {
		panic(fmt.Sprintf("view of block types: %v", err)) // It was parsed from JSON.
	}
	return view
})

// released returns the schema of the package's release; the others came as parts of schemas, or are our own.
func (t systemType) released() systemSchema {
	for _, schema := range t.Schemas {
		if schema.Version != nonVersioned {
			return schema
		}
	}
	return t.Schemas[0]
}
