// Package grams divides texts into trigrams, so that an index of them narrows a search for a part of a text.
//
// A text is folded first. Each letter becomes one of those that the option i of a regular expression takes as equal. A byte that is no part
// of a character becomes U+FFFD, as expressions read it. Then the bytes are divided:
//
//	Kürbis ─▶ kürbis ─▶ k.. ... .rb rbi bis     (ü has two bytes)
//
// If an expression finds a literal in a text, the folded literal is a part of the folded text. So the trigrams of the literal are among
// those of the text, whether the expression ignores case or not.
package grams

import (
	"unicode"
	"unicode/utf8"
)

// Size is the length of a trigram, in bytes.
const Size = 3

// Any stands for all trigrams. No text has it, because 0xff is no byte of UTF-8.
const Any Gram = 0xffffff

// Gram is a trigram: three bytes of a folded text, the first one in the highest bits.
type Gram uint32

// Append appends the bytes of a trigram.
func (g Gram) Append(b []byte) []byte { return append(b, byte(g>>16), byte(g>>8), byte(g)) }

// Fold appends the folded form of a text.
func Fold(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			dst, i = append(dst, lower(c)), i+1
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		dst, i = utf8.AppendRune(dst, fold(r)), i+n
	}
	return dst
}

// fold returns the least of the letters that are equal without case, and of ASCII letters the small one.
func fold(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if least < utf8.RuneSelf {
		return rune(lower(byte(least)))
	}
	return least
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// Of calls f with each trigram of a folded text, in order. It calls f again for one that occurs again.
func Of(folded []byte, f func(Gram)) {
	if len(folded) < Size {
		return
	}
	g := Gram(folded[0])<<8 | Gram(folded[1])
	for _, c := range folded[2:] {
		g = (g<<8 | Gram(c)) & 0xffffff
		f(g)
	}
}

// Distinct returns the distinct trigrams of a folded text, in order; at most a number of them, evenly spread over the text.
func Distinct(folded []byte, most int) []Gram {
	var set Set
	var all []Gram
	Of(folded, func(g Gram) {
		if set.Add(g) {
			all = append(all, g)
		}
	})
	if len(all) <= most {
		return all
	}
	some := make([]Gram, most)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(most-1)]
	}
	return some
}
