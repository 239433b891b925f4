// Package web serves what people see in a browser: the status page, the API's description and its explorer.
//
// Pages are pongo2 templates, embedded, with every value escaped. Nothing is inline and nothing comes from elsewhere, so
// that the content security policy can be strict: text of an event can never run.
package web
