// Package secrets seals what must not be readable in a copy of the database: AES-256-GCM, with keys that are kept
// elsewhere.
//
//	+---------+-----------+----------+-----------------------------+
//	| 1 byte  | 8 bytes   | 12 bytes | as long as the secret + 16  |
//	| version | key's id  | nonce    | ciphertext and tag          |
//	+---------+-----------+----------+-----------------------------+
//
// A sealed secret is bound to its [Place], which is authenticated with it: copied into another workspace, document or
// field it does not open. It names the key that it was sealed with, so that several keys can be in use: the first of a
// [Keyring] seals, all of them open. To rotate, put a new key in front, and drop the old one when nothing is sealed with
// it any more.
//
// Nonces are random, which is safe for 2^32 secrets a key.
package secrets
