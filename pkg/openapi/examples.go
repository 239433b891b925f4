package openapi

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// exampleFiles holds one request body per operation, named by operation id, in the vocabulary Orch.
//
//go:embed examples/*.json
var exampleFiles embed.FS

// examples returns a source of example request bodies by operation id, in the names of a vocabulary. It gives nil for
// an operation without an example. Package test/rest posts every example; its table lists the UUIDs that they use.
func examples(vocab vocabulary.Vocabulary) func(operationID string) (json.RawMessage, error) {
	names := strings.NewReplacer(
		`"`+vocabulary.Orch.Name()+`.`, `"`+vocab.Name()+`.`,
		`"`+vocabulary.Orch.CloudName()+`.`, `"`+vocab.CloudName()+`.`,
	)
	return func(operationID string) (json.RawMessage, error) {
		data, err := exampleFiles.ReadFile("examples/" + operationID + ".json")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read example of %s: %w", operationID, err)
		}
		return json.RawMessage(names.Replace(string(data))), nil
	}
}
