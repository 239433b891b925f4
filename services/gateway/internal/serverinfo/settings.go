package serverinfo

import (
	"encoding/json"
	"fmt"
)

// forClients are the settings by which web UIs of other servers decide. Without them a UI sends usage data to its vendor.
var forClients = json.RawMessage(`{"analytics_enabled":false,"ui":{"show_promotional_content":false}}`)

// Settings returns the settings that clients read: those of the process, a JSON object by variable name, and the object
// "server" that web UIs read.
func Settings(process []byte) ([]byte, error) {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(process, &values); err != nil {
		return nil, fmt.Errorf("decode settings: %w", err)
	}
	values["server"] = forClients
	return json.Marshal(values)
}
