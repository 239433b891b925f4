package serverinfo

import (
	"encoding/json"
	"fmt"
)

// forClients are the settings by which web UIs of other servers decide. Without them a UI sends usage data to its vendor.
var forClients = json.RawMessage(`{"analytics_enabled":false,"ui":{"show_promotional_content":false}}`)

// Settings are the server's settings as JSON objects.
type Settings struct {
	// Operator has those of the process by variable name, and the object "server". They name directories, addresses and networks.
	Operator []byte
	// Tenant has the object "server" alone, which web UIs read.
	Tenant []byte
}

// NewSettings returns the settings of a process, a JSON object by variable name.
func NewSettings(process []byte) (Settings, error) {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(process, &values); err != nil {
		return Settings{}, fmt.Errorf("decode settings: %w", err)
	}
	values["server"] = forClients
	operator, err := json.Marshal(values)
	if err != nil {
		return Settings{}, err
	}
	tenant, err := json.Marshal(map[string]json.RawMessage{"server": forClients})
	return Settings{operator, tenant}, err
}
