// Package tenancy has what accounts, workspaces, users, service accounts and their roles share: their storage, the
// directory, the permission checks for granting roles, and the audit events.
//
//	server ──┬── account ──┬── workspace ──── access: actor has workspace role
//	         │             ├── membership: user has account role
//	         │             ├── service account, with its keys and its account role
//	         │             ├── team, with its members
//	         │             └── workspace role
//	         └── user, with their keys
//
// Each is one document. The resource to its left owns it: the owner's id is the workspace of its envelope. Keys are
// part of their owner's document, so a rotation is one write. The packages below this one implement the resources.
//
//	write ──► store (with effects) ──► directory entry ──► gateway, hooks
//	                            └────► audit event
package tenancy
