package openapi

import "embed"

// ExplorerFiles are the scripts and the style sheet of the API explorer, in the folder "explorer". The gateway serves them
// below /docs/ with a page that names the document; the scripts prefill requests with the document's examples.
//
// They have no further dependencies and run under the policy "default-src 'self'": no inline code, and no text of the
// document or of a response becomes markup. Entered credentials stay in the page's fields.
//
//go:embed explorer
var ExplorerFiles embed.FS
