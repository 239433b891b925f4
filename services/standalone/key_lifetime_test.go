package standalone_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestAKeyCreatesNoneThatLivesLonger: of users, of service accounts, by rotation, and of new members. Without an expiration the new
// key has that of the key that creates it; a later one is refused.
func TestAKeyCreatesNoneThatLivesLonger(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	made := h.must(h.owner, 201, "POST", accountPath+"/account_memberships/", fmt.Sprintf(`{"email": "ada@example.com", "account_role_id": %q}`, access.AccountAdmin))
	keys, ada := "/users/"+at(made, "user_id")+"/api_keys", at(made, "api_key", "key")
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	text := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	short := at(h.must(ada, 201, "POST", keys, fmt.Sprintf(`{"name": "short", "expiration": %q}`, text(expires))), "key")
	bot := at(h.must(h.owner, 201, "POST", accountPath+"/bots/", `{"name": "rotated"}`), "id")

	expiration := func(made map[string]any, path ...string) time.Time {
		parsed, err := time.Parse(time.RFC3339, at(made, append(path, "expiration")...))
		require.NoError(t, err, "the new key never expires")
		return parsed
	}
	for name, c := range map[string]struct {
		path, body, field string // field is that of the expiration; empty if the request has none.
		key               []string
	}{
		"a key of a user":          {keys, `{"name": "another"}`, "expiration", nil},
		"a service account":        {accountPath + "/bots/", `{"name": "bot"}`, "api_key_expiration", []string{"api_key"}},
		"a rotation":               {accountPath + "/bots/" + bot + "/rotate_api_key", `{}`, "api_key_expiration", []string{"api_key"}},
		"the first key of another": {accountPath + "/account_memberships/", `{"email": "bob@example.com"}`, "", []string{"api_key"}},
	} {
		t.Run(name, func(t *testing.T) {
			var body map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.body), &body))
			send := func(key string, expiration *time.Time) reply {
				if expiration != nil {
					body[c.field] = text(*expiration)
				}
				text, err := json.Marshal(body)
				require.NoError(t, err)
				return h.do(key, "POST", c.path, string(text))
			}
			if c.field != "" {
				later := expires.Add(time.Second)
				got := send(short, &later)
				require.Equal(t, 422, got.status, "%s: %s", name, got.body)
				require.Contains(t, got.body, text(expires), name)
				delete(body, c.field)
			}
			got := send(short, nil)
			require.Contains(t, []int{200, 201}, got.status, "%s: %s", name, got.body)
			require.WithinDuration(t, expires, expiration(h.decode(got), c.key...), 0, name)
		})
	}
	// A chain does not get longer, and a key without an end still makes one.
	second := at(h.must(short, 201, "POST", keys, `{"name": "second"}`), "key")
	require.WithinDuration(t, expires, expiration(h.must(second, 201, "POST", keys, `{"name": "third"}`)), 0)
	require.Empty(t, at(h.must(ada, 201, "POST", keys, `{"name": "for ever"}`), "expiration"))
}
