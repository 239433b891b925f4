// Package guard decides whether a request may be taken for a webhook: by its address, its rate, and its signature.
//
//	definition ──▶ Registry.Of ──▶ Guard ──▶ Registry.Admit(address, now)   ErrForbidden · *TooManyError
//	(catalogue)    made once   │
//	               per revision└───────▶ Verify(request, now)        verify.ErrUnproven
//
// What a definition says is prepared once and kept until it changes. Secrets are opened here and stay in memory; a
// webhook whose secrets cannot be opened is closed, never open.
//
// Rates are counted in this process. Each replica of the service takes as many requests as the webhook allows.
package guard
