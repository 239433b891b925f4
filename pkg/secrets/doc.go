// Package secrets encrypts secrets of the database by AES-256-GCM, with keys that are stored elsewhere.
//
//	+---------+-----------+----------+-----------------------------+
//	| 1 byte  | 8 bytes   | 12 bytes | as long as the secret + 16  |
//	| version | key's id  | nonce    | ciphertext and tag          |
//	+---------+-----------+----------+-----------------------------+
//
// A sealed secret is bound to its [Place], which is authenticated with it: in another workspace, document or field it
// cannot be opened. It names its key, so several keys can be in use. The first key of a [Keyring] seals, and all of
// them open. To rotate, prepend a new key, and remove the old one when no secret is sealed with it any more.
//
// Nonces are random, which is safe for 2^32 secrets per key.
package secrets
