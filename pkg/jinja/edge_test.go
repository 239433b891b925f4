package jinja_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// renderText renders a template without variables and returns the text, or the message of the error.
func renderText(t *testing.T, source string) string {
	t.Helper()
	text, err := func() (string, error) {
		tpl, err := jinja.New(jinja.Options{}).Compile(source)
		if err != nil {
			return "", err
		}
		return tpl.Render(t.Context(), nil)
	}()
	if err != nil {
		return "error: " + err.Error()
	}
	return text
}

// The expected results are those of Jinja2 3.1.6 on CPython 3.11, except for the position in an error.
func TestUnfinishedTags(t *testing.T) {
	t.Parallel()
	const (
		noEndraw  = "error: syntax error at line 1, column 1: Missing end of raw directive"
		noComment = "error: syntax error at line 1, column 1: Missing end of comment tag"
	)
	for source, want := range map[string]string{
		"{% raw %}": "", "{% raw -%}": "", "a{% raw %}": "a", "{%- raw -%} ": "", "{% raw -%}   ": "", "{% raw %}\n": "", "{% raw %}\r\n": "",
		"{% raw %} ": noEndraw, "{% raw %}x": noEndraw, "{%raw%}{%": noEndraw, "{% raw %}{% endraw": noEndraw, "{% raw -%}  x": noEndraw,
		"{#": "", "a{#": "a", "{#-": "", "a {#-": "a", "{#+": "", "{#\n": "", "{#-\n": "", "{#\r\n": "", "{# a #}{#": "",
		"{% raw %}{% endraw %}{#": "", "{#-#}": "", "{#--#}": "", "{#+-#}": "",
		"{# ": noComment, "{#- ": noComment, "{# x": noComment, "{##": noComment, "{#-#": noComment, "{#}": noComment, "{#\n\n": noComment,
	} {
		require.Equal(t, want, renderText(t, source), "%q", source)
	}
}

func TestNamedCharacters(t *testing.T) {
	t.Parallel()
	const (
		unknown   = "error: syntax error at line 1, column 4: unknown Unicode character name"
		malformed = `error: syntax error at line 1, column 4: malformed \N character escape`
	)
	for escape, want := range map[string]string{
		`\N{DIGIT ONE}`: "1", `\N{digit one}`: "1", `\N{SNOWMAN}x\N{SNOWMAN}`: "☃x☃", `\N{LATIN SMALL LETTER A WITH ACUTE}`: "á",
		`\N{LF}`: "\n", `\N{nbsp}`: "\u00a0", `\N{BELL}`: "🔔", `\N{ALERT}`: "\a", `\N{LATIN CAPITAL LETTER GHA}`: "Ƣ", `\N{CGJ}`: "\u034f",
		`\N{PRESENTATION FORM FOR VERTICAL RIGHT WHITE LENTICULAR BRAKCET}`: "\ufe18",
		`\N{PRESENTATION FORM FOR VERTICAL RIGHT WHITE LENTICULAR BRACKET}`: "\ufe18",
		`\N{VS1}`: "\ufe00", `\N{VS16}`: "\ufe0f", `\N{VS17}`: "\U000e0100", `\N{VS256}`: "\U000e01ef", `\N{VS257}`: unknown, `\N{VS0}`: unknown,
		`\N{HANGUL SYLLABLE GA}`: "가", `\N{HANGUL SYLLABLE A}`: "아", `\N{HANGUL SYLLABLE HIH}`: "힣", `\N{HANGUL SYLLABLE GGWAELB}`: "꽯", `\N{HANGUL SYLLABLE GAGX}`: unknown, `\N{hangul syllable ga}`: unknown,
		`\N{CJK UNIFIED IDEOGRAPH-4E00}`: "\u4e00", `\N{CJK UNIFIED IDEOGRAPH-04E00}`: "\u4e00", `\N{CJK UNIFIED IDEOGRAPH-20000}`: "\U00020000",
		`\N{CJK UNIFIED IDEOGRAPH-4e00}`: unknown, `\N{cjk unified ideograph-4E00}`: unknown, `\N{CJK UNIFIED IDEOGRAPH-A000}`: unknown,
		`\N{CJK COMPATIBILITY IDEOGRAPH-2F800}`: "\U0002f800", `\N{CJK COMPATIBILITY IDEOGRAPH-F900}`: "\uf900",
		`\N{NUSHU CHARACTER-1B170}`: "\U0001b170", `\N{TANGUT IDEOGRAPH-17000}`: unknown,
		`\N{NOPE}`: unknown, `\N{ DIGIT ONE}`: unknown, `\N{DIGIT_ONE}`: unknown, `\N{<control>}`: unknown, `\N{LATIN SMALL LETTER Á}`: unknown,
		`\N{ſNOWMAN}`: unknown,
		`\N`:          malformed, `\N{`: malformed, `\N{}`: malformed, `\N{x`: malformed, `\Nx`: malformed,
	} {
		require.Equal(t, want, renderText(t, "{{ '"+escape+"' }}"), escape)
	}
}

func TestDeleteIsEscapedInJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"a\u007fb"`, renderText(t, `{{ 'a\x7fb'|tojson }}`))
	require.Equal(t, `{"\u007f": "\u0080"}`, renderText(t, `{{ {'\x7f': '\x80'}|tojson }}`))
}
