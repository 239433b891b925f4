// Package markup is the one type of text that templates insert unescaped. Only the packages show, chart and graph make it; a
// test of package web checks that no other package imports this one.
package markup

import (
	"html"
	"strings"

	"github.com/flosch/pongo2/v6"
)

// Markup is trusted HTML or SVG. The zero value is empty. Templates print it with {{ x.HTML }}; a template that forgets
// HTML prints escaped text.
type Markup struct{ text string }

// Trust declares text to be well-formed markup in which every user's text is escaped.
func Trust(text string) Markup { return Markup{text} }

// HTML returns the markup for a template.
func (m Markup) HTML() *pongo2.Value { return pongo2.AsSafeValue(m.text) }

// Empty reports whether there is nothing to show.
func (m Markup) Empty() bool { return m.text == "" }

// Source returns the markup as text, for an answer that is no page.
func (m Markup) Source() string { return m.text }

// Builder writes markup. Its methods escape; only Raw does not.
type Builder struct{ b strings.Builder }

// Raw writes constant markup.
func (b *Builder) Raw(parts ...string) *Builder {
	for _, p := range parts {
		b.b.WriteString(p)
	}
	return b
}

// Text writes escaped text.
func (b *Builder) Text(text string) *Builder {
	b.b.WriteString(html.EscapeString(text))
	return b
}

// Attr writes an attribute with an escaped value, preceded by a blank.
func (b *Builder) Attr(name, value string) *Builder {
	b.b.WriteString(" " + name + `="` + html.EscapeString(value) + `"`)
	return b
}

// Len returns the bytes written so far.
func (b *Builder) Len() int { return b.b.Len() }

// Markup returns what was written.
func (b *Builder) Markup() Markup { return Markup{b.b.String()} }
