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

// systemFiles are the types that every workspace has from the start, one a file.
//
//go:embed system/*.json
var systemFiles embed.FS

// systemType is a type of the server's own, with its one schema.
type systemType struct {
	Name         string          `json:"name"`
	Slug         string          `json:"slug"`
	Description  string          `json:"description"`
	IsProtected  bool            `json:"is_protected"`
	Capabilities []string        `json:"capabilities"`
	Fields       json.RawMessage `json:"fields"`

	checksum string
}

// systemVersion is the version of the schemas of the server's own.
const systemVersion = "non-versioned"

// systemTypes reads the files, which are part of the program: a fault in them is a bug.
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
