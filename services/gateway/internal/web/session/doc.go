// Package session keeps the sessions of people who signed in to the dashboard, and checks the origin of their forms.
//
//	/login ──▶ Open ──▶ cookie: token of 256 bits
//	                    bucket "sessions": SHA-256 of the token ──▶ digest of the key or password
//	request ──▶ cookie ──▶ Find ──▶ digest ──▶ context ──▶ the gateway authorizes the request by the directory
//
// A session stores no permission. The directory judges every request by the digest of the key, so a revoked key ends
// its sessions. Every gateway watches the bucket, so a sign-out counts on every replica. Without a broker, sessions are
// in memory.
//
// A session ends 12 hours after sign-in, and after 2 hours without a request. The cookie counts for pages only: the
// gateway never reads it below /api.
package session
