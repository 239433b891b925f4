package openapi

import "embed"

// ExplorerFiles is a page that shows the document and tries its operations, in the folder "explorer": index.html with
// its scripts and its style sheet. It is to be served below /docs/, and reads /api/openapi.json.
//
// The page depends on nothing else and runs under the policy "default-src 'self'": nothing is inline, and no text of the
// document or of an answer is taken as markup. Credentials that are entered stay in the page's fields.
//
//go:embed explorer
var ExplorerFiles embed.FS
