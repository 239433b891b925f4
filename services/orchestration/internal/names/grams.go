package names

import (
	"unicode"
	"unicode/utf8"
)

// gramSize is the length of a trigram, in bytes.
const gramSize = 3

// fold appends the folded form of a text: each letter becomes one of those that the option i of a regular expression takes as equal. If
// an expression finds a literal in a text, the folded literal is a part of the folded text.
func fold(dst []byte, text string) []byte {
	for _, r := range text {
		dst = utf8.AppendRune(dst, foldRune(r))
	}
	return dst
}

// foldRune returns the least of the letters that are equal without case, and of ASCII letters the small one.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// gramsOf returns the distinct trigrams of a text, in order. Each is a number of three bytes.
func gramsOf(text string) []int32 {
	folded := fold(nil, text)
	var all []int32
	seen := map[int32]bool{}
	for i := gramSize; i <= len(folded); i++ {
		g := int32(folded[i-3])<<16 | int32(folded[i-2])<<8 | int32(folded[i-1])
		if !seen[g] {
			seen[g] = true
			all = append(all, g)
		}
	}
	return all
}

// spread returns at most a number of trigrams, evenly spread over the text.
func spread(all []int32, most int) []int32 {
	if len(all) <= most {
		return all
	}
	some := make([]int32, most)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(most-1)]
	}
	return some
}
