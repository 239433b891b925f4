// Package sns verifies messages that Amazon SNS posts over HTTPS, and confirms subscriptions.
//
//	message ──▶ Parse ──▶ SigningCertURL: a host of SNS? ──▶ Client: cache or fetch ──▶ Verify: RSA over the named fields
//	                            │ no                              │ unreachable               │ mismatch, expired
//	                            └── ErrForeign                    └── ErrUnavailable          └── ErrSignature
//
// The signature proves that SNS sent the message. It does not prove whose topic it was: anyone can create a topic. So a
// receiver compares TopicArn, which is signed, with the topics that it expects.
//
// The client connects only to hosts of SNS over HTTPS, to public addresses alone, and follows no redirect. Its caches, the
// size of a response and the number of concurrent fetches are bounded, because strangers choose the URLs.
//
// Source: "Verifying the signatures of Amazon SNS messages", Amazon SNS Developer Guide.
package sns
