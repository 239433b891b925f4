package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// apiKey is a key as the server returns it. Key is present only in the response that created it.
type apiKey struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Created    *time.Time `json:"created"`
	Expiration *time.Time `json:"expiration"`
	Key        string     `json:"key"`
}

func expiry(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.Format(time.RFC3339)
}

// expiresFlag adds --expires-in. The returned function gives the expiry, nil for never.
func expiresFlag(cmd *cobra.Command, what string) func() (*time.Time, error) {
	span := spanFlag(cmd.Flags(), "expires-in", "how long "+what+" is valid, such as 30d; the default is forever")
	return func() (*time.Time, error) {
		if *span < 0 {
			return nil, fmt.Errorf("%w: --expires-in must be positive", errArgument)
		}
		if *span == 0 {
			return nil, nil //nolint:nilnil // No expiry means never.
		}
		at := time.Now().UTC().Add(*span).Truncate(time.Second)
		return &at, nil
	}
}

// sayKey prints a new key, which the server never shows again.
func (c *connection) sayKey(cmd *cobra.Command, key string) {
	c.say(cmd, "\n%s\n\nThis is the only time that the key is shown.", key)
}

// sayMadeKey prints the key that a response to a creation has.
func (c *connection) sayMadeKey(cmd *cobra.Command, answer json.RawMessage) {
	made, err := remote.Decode[struct {
		Key apiKey `json:"api_key"`
	}](answer)
	if err == nil && made.Key.Key != "" {
		c.sayKey(cmd, made.Key.Key)
	}
}
