// Package definitioncache holds all webhook definitions in memory, so resolving a request's webhook needs no remote call.
//
//	bucket "webhooks" ──watch──▶ map: digest of slug → definition ──▶ Find: enabled? ──▶ the webhook
//	       ▲                                                             │ no
//	       └───────────── one authoritative look-up, bounded ────────────┘ ──▶ ErrNotFound
//
// The watch may lag briefly, but a webhook that was just created, enabled or rotated must work at once. So a cache miss
// causes one look-up in the bucket. Concurrent requests share it, its negative result is cached for a second, and a rate
// limiter bounds it: a request beyond the limit gets ErrUnavailable, because nothing is known about its webhook. Absent and
// disabled webhooks take the same path and look the same from outside.
//
// While the broker is unreachable the map stays as it is. A definition that relies on a credential is then trusted for a
// short time only (see Cache.Current): the credential may have been revoked.
package definitioncache
