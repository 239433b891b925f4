// Package documents checks the documentation: the table of settings equals the settings, links resolve, named tests
// exist, sentences are short, and retired terms stay retired.
package documents
