// Package jsontext is the grammar of JSON, once for everybody who reads it: strict (RFC 8259, UTF-8), with the place of the first
// fault, and looking at eight bytes of a string at a time, since strings are most of what events are made of.
//
//	Lexer          takes tokens off the front of a text; what becomes of them is its caller's
//	Scan           hands the parts of a value over to a builder as they are read      jinja, webhook/jsonvalue
//	Value, Valid   find where a value ends, and whether it is one                     broker
//
// Nothing that JSON leaves open is decided here. Numbers are handed over as they are written. Of equal keys each is told. Half of
// a surrogate pair is U+FFFD in its text, and is told of by Lexer.Lone. How deep arrays and objects may nest is the caller's to
// say.
package jsontext
