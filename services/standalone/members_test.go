package standalone_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddressesBelongToNoAccount: nobody verifies e-mail addresses, so an account that adds one keeps no other from it, and learns nothing
// of the other's members.
func TestAddressesBelongToNoAccount(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	alpha, beta := h.tenant("alpha"), h.tenant("beta")
	const body = `{"email": "ada@example.com"}`
	first := h.must(alpha.key, 201, "POST", alpha.accountPath()+"/account_memberships/", body)
	second := h.must(beta.key, 201, "POST", beta.accountPath()+"/account_memberships/", body)
	require.NotEqual(t, at(first, "user_id"), at(second, "user_id"), "another user")
	require.Equal(t, at(first, "email"), at(second, "email"))
	require.Equal(t, 409, h.do(alpha.key, "POST", alpha.accountPath()+"/account_memberships/", body).status, "the account has a member of the address")

	other := h.must(alpha.key, 201, "POST", alpha.accountPath()+"/account_memberships/", `{"email": "bob@example.com"}`)
	user := "/users/" + at(other, "user_id")
	require.Equal(t, 409, h.do(at(other, "api_key", "key"), "PATCH", user, body).status)
	require.Equal(t, 204, h.do(at(other, "api_key", "key"), "PATCH", user, `{"email": "beta@example.com"}`).status, "the address of another account's owner")
	require.Equal(t, 404, h.do(at(first, "api_key", "key"), "POST", beta.workspacePath()+"/flows/filter", "{}").status, "an address opens no account")
}
