//go:build e2eweb

package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// TestAccountPages signs in with the owner's key and uses every page of the account, in both forms of the server. A second browser signs
// in as a new member, sees what the role allows, and is signed out by the deletion of its key.
func TestAccountPages(t *testing.T) {
	for name, start := range map[string]func(testing.TB, e2e.Programs, string, ...string) *e2e.Orch{"single": e2e.StartSingle, "three": e2e.StartThree} {
		t.Run(name, func(t *testing.T) {
			o := start(t, programs, t.TempDir(), "ORCH_AUTH=keys")
			owner := newPerson(t, o.URL)
			owner.signsIn(o.OwnerKey(t))
			accountJourney(t, o, owner)
		})
	}
}

func (p *person) signsIn(key string) {
	p.t.Helper()
	p.visits("/")
	p.types("secret", key)
	p.presses("Sign in")
	p.do("the home page", shown(`//main//h1[.="Home"]`))
}

// secret reads a key that a page shows once.
func (p *person) secret() string {
	p.t.Helper()
	p.do("a secret", shown(`//main//pre/code`))
	text, err := chromedp.Run(p.browser, chromedp.Evaluate[string](`document.querySelector("main pre code").textContent`))
	require.NoError(p.t, err)
	return text
}

func accountJourney(t *testing.T, o *e2e.Orch, owner *person) {
	owner.leaves("the section", chromedp.Click(`//nav[@aria-label="Pages"]//a[contains(., "Account")]`))
	owner.do("the workspaces", shown(`//main//h2[.="Workspaces"]`))
	owner.types("name", "data")
	owner.presses("Create the workspace")
	owner.reads("The workspace is created.")
	owner.leaves("delete it", chromedp.Click(`//main//tr[contains(., "data")]//button[.="Delete"]`))
	owner.presses("Delete the workspace")
	owner.reads("The workspace is deleted.")

	owner.presses("Members")
	owner.types("email", "ada@example.com")
	owner.types("first_name", "Ada")
	owner.presses("Add the member")
	key := owner.secret()
	owner.presses("Continue")
	owner.reads("ada@example.com")
	owner.presses("Access")
	owner.chooses("actor", "Ada")
	owner.chooses("workspace_role_id", "Viewer")
	owner.presses("Grant the role")
	owner.reads("The role is granted.")

	ada := newPerson(t, o.URL)
	ada.signsIn(key)
	ada.visits("/webhooks")
	ada.do("no form", chromedp.WaitNotPresent(`//main//a[.="New webhook"]`))
	ada.visits("/account")
	ada.do("the tabs of a member", shown(`//nav[@aria-label="Account"]`), chromedp.WaitNotPresent(`//nav[@aria-label="Account"]//a[.="Members"]`), chromedp.WaitNotPresent(`//main//form[@method="post"]`))
	ada.visits("/sessions")
	ada.reads("this browser")
	ada.types("name", "second")
	ada.presses("Create the key")
	require.NotEqual(t, key, ada.secret())
	ada.presses("Continue")
	ada.leaves("delete the first key", chromedp.Click(`//main//tr[contains(., "first key")]//button`))
	ada.presses("Delete the key")
	ada.do("signed out", shown(`//h1[.="Sign in"]`))

	owner.presses("Service accounts")
	owner.types("name", "ci")
	owner.presses("Create the service account")
	first := owner.secret()
	owner.presses("Continue")
	owner.presses("Rotate the key")
	require.NotEqual(t, first, owner.secret())
	owner.presses("Continue")
	owner.presses("Teams")
	owner.types("name", "analysts")
	owner.presses("Create the team")
	owner.reads("The team is created.")
	owner.presses("Add the member")
	owner.reads("The member is added.")
	owner.presses("Remove")
	owner.reads("The member is removed.")
	owner.presses("Delete")
	owner.presses("Delete the team")
	owner.reads("The team is deleted.")
	owner.presses("Roles")
	owner.types("name", "auditor")
	owner.types("scopes", "see_events")
	owner.presses("Create the role")
	owner.reads("The role is created.")
	owner.presses("Delete")
	owner.presses("Delete the role")
	owner.reads("The role is deleted.")
	owner.presses("Addresses")
	owner.types("entries", "127.0.0.0/8 this machine")
	owner.presses("Save the list")
	owner.reads("The list is saved.")
	owner.presses("Audit")
	owner.reads("team")
	owner.presses("Access")
	owner.presses("Revoke")
	owner.presses("Revoke the access")
	owner.reads("The access is revoked.")
	owner.presses("Service accounts")
	owner.presses("ci")
	owner.presses("Delete")
	owner.presses("Delete")
	owner.reads("The service account is deleted.")
	owner.presses("Members")
	owner.presses("Ada")
	owner.presses("Remove")
	owner.presses("Remove the member")
	owner.reads("The member is removed.")
	owner.findsNoProblem()
	for _, path := range []string{"/account", "/account/access", "/account/members", "/account/service-accounts", "/account/teams", "/account/roles", "/account/addresses", "/account/audit", "/sessions"} {
		owner.visits(path)
		requireAccessible(owner.browser, t, path)
		owner.findsNoProblem()
	}
}
