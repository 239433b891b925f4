// Package tenancy is what accounts, workspaces, users, service accounts and their roles have in common: where they are
// kept, how the directory learns of them, who may give what to whom, and what is told about it.
//
//	server ──┬── account ──┬── workspace ──── access: actor has workspace role
//	         │             ├── membership: user has account role
//	         │             ├── service account, with its keys and its account role
//	         │             ├── team, with its members
//	         │             └── workspace role
//	         └── user, with their keys
//
// Each of them is a document of its own, and belongs to what stands to its left: that is its workspace in the envelope.
// Keys are part of their owner, so that a rotation is one write. The nouns are the packages below this one.
//
//	write ──► store (with effects) ──► directory entry ──► gateway, hooks
//	                            └────► audit event
package tenancy
