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

// systemFiles are the types that every workspace has from the start, one per file.
//
//go:embed system/*.json
var systemFiles embed.FS

// systemType is one of the server's own types with its one schema.
type systemType struct {
	Name         string          `json:"name"`
	Slug         string          `json:"slug"`
	Description  string          `json:"description"`
	IsProtected  bool            `json:"is_protected"`
	Capabilities []string        `json:"capabilities"`
	Fields       json.RawMessage `json:"fields"`

	checksum string
}

// systemVersion is the schema version of the server's own types.
const systemVersion = "non-versioned"

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
	fields, err := jsontree.ParseObject(t.Fields)
	if err != nil {
		return systemType{}, err
	}
	t.checksum = Checksum(fields)
	t.Fields = jsontree.Text(fields)
	return t, nil
}
