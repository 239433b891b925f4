// Package jsontoken reads JSON token by token: strict grammar (RFC 8259), valid UTF-8, and errors with a position. It examines
// eight bytes of a string at a time, because most of an event is strings.
//
//	Lexer             takes tokens off the front of a text                 restjson
//	Scan              reports the parts of one value to a Builder          jinja, jsontree
//	ValueEnd, Valid   find the end of a value, or validate it              broker
//	AppendString      writes a JSON string
//
// The caller decides what the grammar leaves open. Numbers are passed as written. Duplicate keys are all reported. A lone
// surrogate becomes U+FFFD, and Lexer.LoneSurrogate reports it. The caller sets the maximum nesting depth.
package jsontoken
