package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// yamlOutput is where commands print records with --output yaml. They print JSON, which printJSON converts for it.
type yamlOutput struct{ io.Writer }

// print prints JSON as YAML. It preserves the order of keys and the notation of numbers.
func (y yamlOutput) print(text json.RawMessage) error {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil { // JSON is YAML.
		return fmt.Errorf("read the server's answer: %w", err)
	}
	blockStyle(&document)
	encoder := yaml.NewEncoder(y.Writer)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return encoder.Close()
}

// blockStyle replaces the braces and quotes of JSON by indentation. Empty collections keep theirs, and so do texts that YAML
// would read as another type.
func blockStyle(node *yaml.Node) {
	node.Style = 0
	for _, child := range node.Content {
		blockStyle(child)
	}
}
