// Package guard decides whether a webhook accepts a request: by its address, its rate, and its signature.
//
//	definition ──▶ Registry.Of ──▶ Guard ──▶ Registry.Admit(address, now)   ErrForbidden · *TooManyError
//	               made once   │
//	               per revision└───────▶ Verify(request, now)        verify.ErrUnproven
//
// A definition is prepared once and kept until it changes. Its secrets are decrypted here and stay in memory. A webhook
// whose secrets cannot be decrypted accepts nothing.
//
// Each process counts rates by itself, so each replica of the service accepts as many requests as the webhook allows.
package guard
