// Package directory knows who may do what, in memory: accounts, workspaces, users, service accounts, their keys and
// their roles. Gateway and hooks judge every request by it and ask nobody on the way.
//
//	store ─▶ outbox of orchestration ─▶ bucket "directory" ─▶ watch of every replica ─▶ memory
//	                                    kind.id → entry                                   │
//	                     key of a request ── SHA-256 ──▶ Identify ──▶ Caller ──▶ scopes ◀─┘
//
// Entries are the stored documents, one for one: a change of a role is one entry, however many have the role. A revoked
// key is refused as soon as the change arrives. A view that the broker has not confirmed for five seconds is not
// trusted: then nobody can be identified (ErrStale).
//
// A caller may do in a workspace what their own role allows there, and what the roles of their teams do. An account may
// be usable from certain addresses alone (Admits).
//
// The watch may lag behind by a moment. Before a caller is refused, CatchUp makes the view current, so that a key that
// was just made works at once.
package directory
