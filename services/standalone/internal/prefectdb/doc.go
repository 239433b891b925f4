// Package prefectdb reads the database of a Prefect 3 server, on PostgreSQL or SQLite, as resources of the REST API.
//
//	table ──► columns of a resource's fields ──► REST JSON ──► bounds of new resources ──► message
//	                                                                │
//	                                                                └──► row with an error
//
// The field of a message is the column of that name, so a column is read if the database has it: older versions lack some.
package prefectdb
