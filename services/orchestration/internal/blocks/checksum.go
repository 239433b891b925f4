package blocks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jsontree"
)

// definitionPrefix is the prefix of a reference to a definition of the same schema.
const definitionPrefix = "#/definitions/"

// Checksum returns the checksum by which clients identify a schema: the digest of its fields as Python's json module
// writes them with sorted keys. It excludes the secret markers and the definitions of nested blocks, which have
// checksums of their own.
func Checksum(fields *jsontree.Object) string {
	counted := withoutKey(fields, "secret_fields").(*jsontree.Object)
	if definitions := counted.Object("definitions"); definitions != nil && definitions.Len() > 0 {
		if kept := plainDefinitions(counted, definitions); kept.Len() > 0 {
			counted.Set("definitions", kept)
		} else {
			counted.Delete("definitions")
		}
	}
	// The hash covers the arguments of a Python call: one positional, none by keyword.
	text := append(appendPython([]byte("[["), counted), "], {}]"...)
	digest := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// withoutKey copies a value without the members of a name. It descends into objects, not into lists.
func withoutKey(v jsontree.Value, name string) jsontree.Value {
	object, ok := v.(*jsontree.Object)
	if !ok {
		return v
	}
	kept := &jsontree.Object{}
	for _, m := range object.Members() {
		if m.Key != name {
			kept.Set(m.Key, withoutKey(m.Value, name))
		}
	}
	return kept
}

// plainDefinitions returns the definitions that a value references, directly or transitively, except blocks.
func plainDefinitions(v jsontree.Value, definitions *jsontree.Object) *jsontree.Object {
	kept := &jsontree.Object{}
	var follow func(v jsontree.Value)
	follow = func(v jsontree.Value) {
		for _, name := range referenced(v, nil) {
			definition := definitions.Object(name)
			if definition.Len() == 0 || isBlock(definition) {
				continue
			}
			if _, seen := kept.Get(name); !seen {
				kept.Set(name, definition)
				follow(definition)
			}
		}
	}
	follow(v)
	return kept
}

func isBlock(definition *jsontree.Object) bool {
	slug, ok := definition.Get("block_type_slug")
	return ok && slug != nil
}

// referenced appends the names of all definitions that a value references at any depth.
func referenced(v jsontree.Value, names []string) []string {
	switch v := v.(type) {
	case *jsontree.Object:
		if ref := v.Text("$ref"); ref != "" {
			names = append(names, strings.ReplaceAll(ref, definitionPrefix, ""))
		}
		for _, m := range v.Members() {
			names = referenced(m.Value, names)
		}
	case jsontree.List:
		for _, item := range v {
			names = referenced(item, names)
		}
	}
	return names
}

// appendPython writes a value as Python's json.dumps does with sorted keys: ASCII only, with spaces after commas and
// colons.
func appendPython(dst []byte, v jsontree.Value) []byte {
	switch v := v.(type) {
	case *jsontree.Object:
		dst = append(dst, '{')
		members := slices.SortedFunc(slices.Values(v.Members()), func(a, b jsontree.Member) int { return strings.Compare(a.Key, b.Key) })
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendASCII(dst, m.Key), ": "...)
			dst = appendPython(dst, m.Value)
		}
		return append(dst, '}')
	case jsontree.List:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendPython(dst, item)
		}
		return append(dst, ']')
	case string:
		return appendASCII(dst, v)
	case json.Number:
		return append(dst, pythonNumber(string(v))...)
	}
	return jsontree.Append(dst, v)
}

// appendASCII escapes everything beyond ASCII in a string, with surrogate pairs where needed.
func appendASCII(dst []byte, s string) []byte {
	const short = "\b\f\n\r\t"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < utf8.RuneSelf && strings.ContainsRune(short, r):
			dst = append(dst, '\\', "bfnrt"[strings.IndexRune(short, r)])
		case r >= ' ' && r <= '~':
			dst = append(dst, byte(r))
		case r > math.MaxUint16:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = appendUnit(dst, r)
		}
	}
	return append(dst, '"')
}

func appendUnit(dst []byte, unit rune) []byte {
	hexadecimal := strconv.FormatInt(int64(unit), 16)
	return append(append(append(dst, `\u`...), "0000"[len(hexadecimal):]...), hexadecimal...)
}

// pythonNumber writes a number as Python does after reading it: integers of any size, others as floats.
func pythonNumber(lexeme string) string {
	if !strings.ContainsAny(lexeme, ".eE") {
		if whole, ok := new(big.Int).SetString(lexeme, 10); ok {
			return whole.String()
		}
	}
	f, err := strconv.ParseFloat(lexeme, 64)
	switch {
	case err != nil && math.IsInf(f, 1):
		return "Infinity"
	case err != nil && math.IsInf(f, -1):
		return "-Infinity"
	}
	// Python uses an exponent below 1e-4 and from 1e16.
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(scientific, "e")
	if e, err := strconv.Atoi(exponent); err == nil && (e < -4 || e >= 16) {
		return scientific
	}
	plain := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += ".0"
	}
	return plain
}
