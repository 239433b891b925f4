// Package chart draws charts as SVG on the server. A chart is a figure with a caption and its numbers as a table, so it
// reads without colour, without a script and with a screen reader.
//
// Charts have classes, never style attributes, because the content security policy forbids those. Text around the SVG is
// HTML: the drawing stretches to the width of the page and text keeps its size.
package chart
