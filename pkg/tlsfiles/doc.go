// Package tlsfiles provides TLS between the services: a certificate, its key and the CA of the other services, in files that
// are read again when they change.
//
//	cert-manager, an operator ──write──► files ──read at a handshake, at most once a second──► tls.Config
//
// A file that became unreadable or invalid is logged, and the last valid certificate stays in use. At the start such a file
// is an error. Connections that exist keep the certificate of their handshake.
package tlsfiles
