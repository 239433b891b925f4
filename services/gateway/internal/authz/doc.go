// Package authz decides who may do what: it binds each request to an account and a workspace, and checks the caller's permissions there.
//
//	REST       Admit, Permit ──┐
//	websocket  AdmitSocket ────┼──▶ credential ──▶ permission in the realm ──▶ allow list of the account ──▶ request.Info
//	page       Enter, SignIn ──┘       401                403, 404                      403
//
// Package authn checks single credentials; this package knows operations, workspaces, websockets and pages. Without API keys every
// authenticated caller may do everything. Errors are responses.
package authz
