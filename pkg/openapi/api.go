package openapi

import "github.com/orch-project/orch/pkg/vocabulary"

// API is the document of the server's own API, as it is served at /api/openapi.json.
func API(words vocabulary.Vocabulary) ([]byte, error) {
	return Document(Options{
		Title:   "Orch",
		Version: vocabulary.APIVersion,
		Header:  words.VersionHeader(),
		Servers: []string{"/api"},
	}, Services()...)
}
