// Package definitioncache knows the webhooks, in memory, so that a request needs nobody else to be found its webhook.
//
//	bucket "webhooks" ──watch──▶ map: digest of slug → definition ──▶ Find: enabled? ──▶ the webhook
//	       ▲                                                             │ no
//	       └───────────── one authoritative look, bounded ───────────────┘ ──▶ ErrNotFound
//
// The watch may lag behind by a moment, and a webhook that was just created, enabled or given a new address must work at
// once. So before a request is told that there is no such webhook, the broker is asked. That look is made once for any
// number of requests that wait for it, remembered for a moment when it finds nothing, and limited in rate: whoever tries
// random addresses gets the answer from memory. Absent and disabled webhooks take the same way and cannot be told apart
// from outside.
//
// While the broker is away the map stays as it is. A definition that relies on a credential is then trusted for a short
// time only (see Webhook.Current): the credential may have been revoked.
package definitioncache
