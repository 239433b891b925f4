// Package jsontext finds its way through JSON text without building anything of it: where a value ends, and whether it
// is one. It is strict (RFC 8259, UTF-8), allocates nothing, and looks at eight bytes of a string at a time, since
// strings are most of what events are made of.
package jsontext
