package receive

// The media types of forms.
const (
	mediaForm      = "application/x-www-form-urlencoded"
	mediaMultipart = "multipart/form-data"
)

// Body is a request's body, decoded but not parsed.
type Body struct {
	// Form tells that the body was a form; Pairs has its entries and Text is empty.
	Form  bool
	Pairs []Pair
	// Text is the body in all other cases. Whether it is JSON is for those to find out who need it.
	Text string
}

// Body decodes the body by its media type and charset.
//
//	application/x-www-form-urlencoded   a flat mapping
//	multipart/form-data                 a flat mapping, with files by name, type, size and digest; text if it is malformed
//	anything else, or nothing           text: JSON if it is that, else a string
func (r *Request) Body() Body {
	media, charset := mediaType(r.Get("content-type"))
	e := charsetOf(charset)
	if media == mediaForm && r.Raw != nil {
		return Body{Form: true, Pairs: parseForm(r.Raw, e)}
	}
	if media == mediaMultipart {
		if pairs, ok := parseMultipart(r.Get("content-type"), r.Raw); ok {
			return Body{Form: true, Pairs: pairs}
		}
	}
	return Body{Text: decode(r.Raw, e)}
}

// BodyExcerpt is the beginning of the body as text, and whether it is less than the whole.
func (r *Request) BodyExcerpt() (text string, cut bool) {
	_, charset := mediaType(r.Get("content-type"))
	raw := r.Raw[:min(len(r.Raw), Excerpt)]
	return decode(raw, charsetOf(charset)), r.TooLarge || len(raw) < len(r.Raw)
}
