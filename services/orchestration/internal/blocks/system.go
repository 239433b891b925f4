package blocks

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/orch-project/orch/pkg/jsontree"
)

// systemFiles are the types that every workspace has from the start, one per file: those of a new server of the reference,
// with its schemas and checksums. tools/collections writes them. The texts are our own, so those checksums are not of the file's
// fields. A schema without a checksum is our own, as the one for signed calls of webhooks.
//
//go:embed system/*.json
var systemFiles embed.FS

// systemType is one of the server's own types with its schemas.
type systemType struct {
	Package          string         `json:"package"` // The Python package that has the type.
	Name             string         `json:"name"`
	Slug             string         `json:"slug"`
	Description      string         `json:"description"`
	IsProtected      bool           `json:"is_protected"`
	DocumentationURL *string        `json:"documentation_url"`
	Schemas          []systemSchema `json:"schemas"`
}

type systemSchema struct {
	Checksum     string          `json:"checksum"`
	Version      string          `json:"version"`
	Capabilities []string        `json:"capabilities"`
	Fields       json.RawMessage `json:"fields"`
}

// nonVersioned is the version of schemas that came as a part of others.
const nonVersioned = "non-versioned"

// systemTypes parses the embedded files; an error in them is a bug.
var systemTypes = sync.OnceValue(func() []systemType {
	names, err := fs.Glob(systemFiles, "system/*.json")
	if err != nil {
		panic(err)
	}
	types := make([]systemType, len(names))
	for i, name := range names {
		if types[i], err = readSystemType(name); err != nil {
			panic(fmt.Sprintf("block type %s: %v", path.Base(name), err))
		}
	}
	return types
})

func readSystemType(name string) (systemType, error) {
	text, err := systemFiles.ReadFile(name)
	if err != nil {
		return systemType{}, err
	}
	var t systemType
	if err := json.Unmarshal(text, &t); err != nil {
		return systemType{}, err
	}
	for i := range t.Schemas {
		fields, err := jsontree.ParseObject(t.Schemas[i].Fields)
		if err != nil {
			return systemType{}, err
		}
		t.Schemas[i].Fields = jsontree.Text(fields)
		if t.Schemas[i].Checksum == "" {
			t.Schemas[i].Checksum = Checksum(fields)
		}
	}
	return t, nil
}
