// Package directory holds all permissions in memory: accounts, workspaces, users, service accounts, their keys and
// their roles. Gateway and hooks authorize every request with it, without remote calls.
//
//	store ─▶ outbox of orchestration ─▶ bucket "directory" ─▶ watch of every replica ─▶ memory
//	                                    kind.id → entry                                   │
//	                     key of a request ── SHA-256 ──▶ Identify ──▶ Caller ──▶ scopes ◀─┘
//
// Entries are the stored documents, one to one: a change of a role is one entry, however many actors have the role. A
// revoked key is refused as soon as the change arrives. A view that the broker has not confirmed for five seconds is
// not trusted: Identify then returns ErrStale.
//
// In a workspace a caller has the scopes of their own role and of the roles of their teams. An account may restrict the
// addresses that may use it (Admits).
//
// The watch may lag briefly. Before a caller is refused, CatchUp makes the view current, so a new key works at once.
package directory
