// Package render turns a request into an event with a webhook's template.
//
//	Request ──▶ variables ──▶ filter ──▶ template, under its budget ──▶ text ──▶ JSON object, or list ──▶ fields, defaults ──▶ events
//	            method          │                                                                            │
//	            headers         └──▶ false: no event         the webhook, appended as related ───────────────┘
//	            body
//	            query, path
//
// query and path are an extension: many senders put identifiers into the URL. Once the events are stored, the response of the webhook is
// rendered with the same variables.
//
// Every failure is an error that wraps ErrFilter, ErrTemplate, ErrEvent or ErrResponse and describes the cause and its position, for the owner
// of the webhook. The sender never sees it.
package render
