//go:build e2eweb

package web

import (
	"fmt"
	"strings"
)

// attack is the statement that every string of the corpus tries to run.
const attack = `window.attacked=1`

// corpus returns about 300 texts that would run a script, load something, or hide and reorder text, if a page did not treat them as
// text: tags, attributes, addresses, SVG and MathML, markdown, templates, mutations, terminal codes and bidirectional controls.
func corpus() []string {
	var all []string
	for _, event := range []string{"onerror", "onload", "onclick", "onfocus", "onmouseover", "ontoggle", "onanimationstart", "onpointerenter", "onbegin", "onstart"} {
		for _, tag := range []string{"img src=x", "svg", "body", "input autofocus", "details open", "video src=x", "iframe", "marquee", "math", "select autofocus", "object data=x", "audio src=x"} {
			all = append(all, fmt.Sprintf("<%s %s=%s>", tag, event, attack))
		}
	}
	for _, scheme := range []string{"javascript:", "JaVaScRiPt:", "java\tscript:", "java\nscript:", "\x01javascript:", "vbscript:", "data:text/html,<script>", "data:text/html;base64,PHNjcmlwdD4=", "javascript&colon;", "&#106;avascript:", "blob:", "file:///"} {
		for _, form := range []string{`<a href="%s">x</a>`, `[x](%s)`, `![x](%s)`, `<%s>`, `[x]: %s`, `<form action="%s"><button>x`, `<iframe src="%s">`} {
			all = append(all, fmt.Sprintf(form, scheme+attack))
		}
	}
	for _, script := range []string{
		`<script>` + attack + `</script>`, `<ScRiPt>` + attack + `</sCrIpT>`, `<script src=//example.com/x.js></script>`, `<script/x>` + attack + `</script>`,
		`<svg><script>` + attack + `</script></svg>`, `<svg><script href=data:,` + attack + `></script>`, `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=` + attack + `&gt;">`,
		`</title><script>` + attack + `</script>`, `</textarea><script>` + attack + `</script>`, `</script><script>` + attack + `</script>`, `</style><script>` + attack + `</script>`, `--><script>` + attack + `</script>`, `]]><script>` + attack + `</script>`,
		`<style>@import "//example.com/x.css";</style>`, `<link rel=stylesheet href=//example.com/x.css>`, `<base href=//example.com/>`, `<meta http-equiv=refresh content="0;url=//example.com">`,
		`<noscript><p title="</noscript><img src=x onerror=` + attack + `>">`, `<template><script>` + attack + `</script></template>`, `<plaintext>`, `<!--`, `<![CDATA[`, `<xmp><script>` + attack + `</script>`,
		`<svg><use href="data:image/svg+xml,<svg id=x xmlns='http://www.w3.org/2000/svg'><image href=1 onerror=` + attack + ` /></svg>#x">`, `<svg><animate onbegin=` + attack + ` attributeName=x dur=1s>`,
		`<svg><a xlink:href="javascript:` + attack + `"><text x=20 y=20>x</text></a>`, `<embed src="javascript:` + attack + `">`, `<object data="javascript:` + attack + `">`, `<isindex action=javascript:` + attack + ` type=image>`,
		`{{ constructor.constructor('` + attack + `')() }}`, `${` + attack + `}`, `#{` + attack + `}`, `<%= ` + attack + ` %>`, `{%` + attack + `%}`, `{{ v|safe }}`, `{% autoescape off %}<script>` + attack + `</script>{% endautoescape %}`,
		"\x1b[31mred\x1b[0m", "\x1b]8;;javascript:" + attack + "\x07link\x1b]8;;\x07", "\u202etxt.exe", "\u2066isolated\u2069", "a\u200bb", "\ufeffbom", "x\u0000y", "\u2028" + attack + "\u2029", "\u007f",
		`+ADw-script+AD4-` + attack + `+ADw-/script+AD4-`, `%3Cscript%3E` + attack + `%3C/script%3E`, `&lt;script&gt;` + attack + `&lt;/script&gt;`, `\u003cscript\u003e` + attack, `＜script＞` + attack + `＜/script＞`,
		"```html\n<script>" + attack + "</script>\n```", "<details open ontoggle=" + attack + ">\n\n# x", "| a |\n|---|\n| <img src=x onerror=" + attack + "> |", "[x](https://example.com/\" onmouseover=\"" + attack + ")", "![x](https://example.com/x.png)",
	} {
		all = append(all, script)
	}
	for _, quote := range []string{`"`, `'`, "`", `">`, `'>`, `"/>`, `" `, `' `} {
		for _, rest := range []string{`autofocus onfocus=` + attack + ` x=`, `onmouseover=` + attack + ` `, `style="background:url(//example.com/x)" `, `><script>` + attack + `</script>`, `;` + attack + `;//`, `-` + attack + `-`} {
			all = append(all, quote+rest+quote)
		}
	}
	return all
}

// plainCorpus are the texts of the corpus for names, in which the API forbids angle brackets, ampersands and control characters.
func plainCorpus() []string {
	var all []string
	for _, text := range corpus() {
		if !strings.ContainsAny(text, "<>&%/\n\t\x00\x01\x1b\x07\x7f") {
			all = append(all, text)
		}
	}
	return all
}
