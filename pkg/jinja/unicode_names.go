package jinja

import (
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/runenames"
)

// characterByName returns the character that \N{name} means in a Python string: a Unicode name or one of its formal aliases. Case
// does not matter, except in the names that Python computes: those of Hangul syllables and CJK ideographs.
func characterByName(name string) (rune, bool) {
	if syllable, ok := strings.CutPrefix(name, "HANGUL SYLLABLE "); ok {
		return hangulSyllable(syllable)
	}
	if number, ok := strings.CutPrefix(name, "CJK UNIFIED IDEOGRAPH-"); ok {
		return cjkIdeograph(number)
	}
	if !isASCII(name) {
		return 0, false
	}
	r, ok := charactersByName()[strings.ToUpper(name)]
	return r, ok
}

// charactersByName maps names and aliases to characters. It takes about 10 ms and 2 MB, so the first use builds it.
var charactersByName = sync.OnceValue(func() map[string]rune {
	byName := make(map[string]rune, 40_000)
	add := func(from, to rune) {
		for r := from; r <= to; r++ {
			// Names such as <control> and <Private Use> are labels of many characters.
			if name := runenames.Name(r); name != "" && name[0] != '<' {
				byName[name] = r
			}
		}
	}
	add(0, 0x1ffff)
	add(0x2f800, 0x2fa1f) // CJK compatibility ideographs. The rest of planes 2 and 3 has computed names.
	add(0xe0000, 0xe01ff) // Tags and variation selectors.
	for r, names := range characterAliases {
		for _, name := range names {
			byName[name] = r
		}
	}
	for n := range rune(256) {
		selector := 0xfe00 + n
		if n >= 16 {
			selector = 0xe0100 + n - 16
		}
		byName["VS"+strconv.Itoa(int(n)+1)] = selector
	}
	return byName
})

// cjkIdeograph returns the ideograph whose name ends in number: four or five hexadecimal digits in upper case.
func cjkIdeograph(number string) (rune, bool) {
	if len(number) < 4 || len(number) > 5 || strings.Trim(number, "0123456789ABCDEF") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(number, 16, 32)
	if err != nil || !strings.HasPrefix(runenames.Name(rune(n)), "<CJK Ideograph") {
		return 0, false
	}
	return rune(n), true
}

// The short names of the jamo that form Hangul syllables, in the order of their code points (Unicode, section 3.12).
var (
	hangulLeading  = strings.Split("G GG N D DD R M B BB S SS  J JJ C K T P H", " ")
	hangulVowels   = strings.Split("A AE YA YAE EO E YEO YE O WA WAE OE YO U WEO WE WI YU EU YI I", " ")
	hangulTrailing = strings.Split(" G GG GS N NJ NH D L LG LM LB LS LT LP LH M B BS S SS NG J C K T P H", " ")
)

// hangulSyllable returns the syllable that is spelled as a leading jamo, a vowel and an optional trailing jamo.
func hangulSyllable(name string) (rune, bool) {
	leading, name := longestPrefix(name, hangulLeading)
	vowel, name := longestPrefix(name, hangulVowels)
	trailing, rest := longestPrefix(name, hangulTrailing)
	if leading < 0 || vowel < 0 || trailing < 0 || rest != "" {
		return 0, false
	}
	const first = 0xac00
	return rune(first + (leading*len(hangulVowels)+vowel)*len(hangulTrailing) + trailing), true
}

// longestPrefix returns the index of the longest of prefixes that s begins with, or -1, and the rest of s.
func longestPrefix(s string, prefixes []string) (index int, rest string) {
	index, length := -1, -1
	for i, prefix := range prefixes {
		if len(prefix) > length && strings.HasPrefix(s, prefix) {
			index, length = i, len(prefix)
		}
	}
	return index, s[max(length, 0):]
}
