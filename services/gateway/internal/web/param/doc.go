// Package param reads the query parameters of pages. All pages share their names and forms:
//
//	from, to    ISO 8601 time, or an offset from now such as -24h, -7d; from defaults to -24h
//	at          ISO 8601 time: the page shows that moment
//	state       state types, repeatable
//	flow …      UUIDs, repeatable
//	q           text
//	sort        one of the page's words
//	n           rows per page, 1 to 200; default 50
//	older       position of the next page; see Position
//	tz          IANA time zone; default UTC
//
// A bad value is an Invalid error, which the site shows as a 400 that names the parameter.
package param
