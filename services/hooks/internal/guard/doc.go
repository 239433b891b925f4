// Package guard decides whether a webhook accepts a request: by its address, its rate, and its signature.
//
//	definition ──▶ Registry.Of ──▶ Guard ──▶ Registry.Admit(address)        ErrForbidden · *TooManyError · ErrUnavailable
//	               made once   │
//	               per revision└───────▶ Verify(request, now)        verify.ErrUnproven
//
// A definition is prepared once and kept until it changes. Its secrets are decrypted here and stay in memory. A webhook
// whose secrets cannot be decrypted accepts nothing.
//
// Rates count over all replicas of the service (pkg/ratelimit).
package guard
