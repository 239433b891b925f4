// Package documents keeps what is written about Orch true: the table of settings is the settings, links lead somewhere,
// and tests that a document names exist.
package documents
