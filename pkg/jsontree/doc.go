// Package jsontree holds JSON as a tree: parse, change, compare, write. Members keep their order, and numbers keep their literal.
//
// Parse is strict in grammar and lenient where RFC 8259 leaves a choice. The last of duplicate keys wins, at the position of the
// first. A lone surrogate and an invalid UTF-8 sequence become U+FFFD. Text that the tree writes has none of these, so the strict
// decoder of pkg/restjson accepts it.
//
// The template engine does not use this tree. Its values are those of Python, and converting a tree to them costs 50 % more
// instructions than building them from the tokens.
package jsontree
