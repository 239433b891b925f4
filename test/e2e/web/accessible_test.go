//go:build e2eweb

package web

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// named are the roles of Chromium's accessibility tree whose nodes need a name.
var namedRoles = []string{
	"link", "button", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton", "image", "progressbar", "DisclosureTriangle", "columnheader",
}

// structure finds what makes a page hard to navigate without seeing it, and targets that are hard to hit.
const structure = `(() => {
	const problems = [];
	const one = (selector) => { const n = document.querySelectorAll(selector).length; if (n !== 1) problems.push(selector + ": " + n + " times"); };
	for (const selector of ["main", "h1", "body > header", "body > footer", "a.skip"]) one(selector);
	if (!document.documentElement.lang) problems.push("no language");
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push("id twice: " + id);
	let level = 0;
	for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
		const next = Number(h.tagName[1]);
		if (level && next > level + 1) problems.push("heading " + h.textContent.trim().slice(0, 40) + " skips a level");
		level = next;
	}
	for (const nav of document.querySelectorAll("nav")) if (!nav.getAttribute("aria-label")) problems.push("a nav without a label");
	for (const e of document.querySelectorAll("button, .button, input:not([type=hidden]), select, textarea, summary")) {
		const target = e.type === "checkbox" && e.closest("label") || e, box = target.getBoundingClientRect();
		const margins = parseFloat(getComputedStyle(e).marginLeft) * (e.type === "checkbox" ? 2 : 0);
		if (box.width && (box.height + margins < 23.5 || box.width + margins < 23.5)) problems.push("small target: " + e.outerHTML.slice(0, 80) + " " + box.width + "x" + box.height);
	}
	return problems;
})()`

// contrast finds text whose contrast with its background is below 4.5:1, or 3:1 if it is large.
const contrast = `(() => {
	const problems = new Set();
	const parse = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
	const light = (rgb) => rgb.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (e) => {
		for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] === 1) return c; }
		return [255, 255, 255];
	};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = 0; walker.nextNode() && n < 4000; n++) {
		const text = walker.currentNode, e = text.parentElement;
		if (!text.data.trim() || !e.checkVisibility() || e.closest("[disabled], svg, option, .visually-hidden, .skip")) continue;
		const style = getComputedStyle(e);
		const [a, b] = [light(parse(style.color)), light(ground(e))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
		if (ratio < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) problems.add(ratio.toFixed(1) + " " + style.color + " of " + text.data.trim().slice(0, 40));
	}
	return [...problems].slice(0, 10);
})()`

// requireAccessible checks the names of controls in the accessibility tree, the structure of the page, and its contrast in both colour
// schemes.
func requireAccessible(browser context.Context, t *testing.T, address string) {
	t.Helper()
	problems, err := chromedp.Run(browser, chromedp.Evaluate[[]string](structure))
	require.NoError(t, err, address)
	require.Empty(t, problems, address)
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		require.NoError(t, err)
		problems, err := chromedp.Run(browser, chromedp.Evaluate[[]string](contrast))
		require.NoError(t, err, address)
		require.Empty(t, problems, "%s, %s", address, scheme)
	}
	tree, err := chromedp.Call(browser, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(t, err, address)
	seen := 0
	for _, node := range tree.Nodes {
		role := textOf(node.Role)
		if node.Ignored || !slices.Contains(namedRoles, role) {
			continue
		}
		seen++
		require.NotEmpty(t, textOf(node.Name), "%s: a %s without a name", address, role)
	}
	require.Positive(t, seen, address)
}

// textOf returns a string of the accessibility tree, empty for none.
func textOf(value *accessibility.Value) string {
	if value == nil {
		return ""
	}
	var text string
	_ = json.Unmarshal(value.Value, &text) // Other types have no name.
	return text
}
