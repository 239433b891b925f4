// Package receive is the edge of webhook ingestion: it reads a request within its limits and makes of it what templates
// see.
//
//	http.Request ──▶ Read ──▶ Request ──┬──▶ Body()       text or form, decoded by charset
//	   method, path   hard limit        ├──▶ HeaderPairs  lower case, joined, Host back, Authorization gone
//	                                    └──▶ Handshake()  an answer that needs no template, if it is one
//
// The bytes of a request are kept as they came, because signatures are made over them. Nothing is parsed before the
// limit has been applied.
package receive
