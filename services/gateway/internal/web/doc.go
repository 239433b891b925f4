// Package web serves the pages for browsers: the status page, the API's description and its explorer.
//
// Pages are embedded pongo2 templates that escape every value. They contain no inline scripts or styles and load
// nothing from other origins, so the content security policy can be strict.
package web
