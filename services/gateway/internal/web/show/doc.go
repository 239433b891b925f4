// Package show formats values for people: times, durations, states, ids, links, JSON and markdown. Text that it returns as
// markup.Markup has every user's text escaped, and control characters made visible.
package show
