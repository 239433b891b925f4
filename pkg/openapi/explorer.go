package openapi

import "embed"

// ExplorerFiles is the API explorer, in the folder "explorer": index.html with its scripts and its style sheet. The
// gateway serves it below /docs/; it reads /api/openapi.json and prefills requests with the document's examples.
//
// The page has no further dependencies and runs under the policy "default-src 'self'": no inline code, and no text of the
// document or of a response becomes markup. Entered credentials stay in the page's fields.
//
//go:embed explorer
var ExplorerFiles embed.FS
