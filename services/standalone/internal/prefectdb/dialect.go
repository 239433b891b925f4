package prefectdb

import (
	"database/sql"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dialect is what differs between the two kinds of databases. Every value is read as text.
type dialect interface {
	// snapshot are the options of a transaction that reads one state of the database.
	snapshot() *sql.TxOptions
	// columnsQuery selects the tables and columns.
	columnsQuery() string
	// revisions tells whether a revision of the schema is one of Prefect 3, or of an earlier version.
	revisions(revision string) (known, old bool)
	// text is the expression that reads a column as the text of a type.
	text(column string, as valueType) string
	// time and seconds read the text of a time and of an interval.
	time(text string) string
	seconds(text string) (string, bool)
}

// valueType is the type of a value.
type valueType int

const (
	textValue valueType = iota
	numberValue
	boolValue
	timeValue
	intervalValue
	jsonValue
)

// The revisions of the schema, oldest first: those before 3.0, an empty line, and those of 3.0 to 3.9. revisions.py writes them.
var (
	//go:embed revisions-postgresql.txt
	postgresqlRevisions string
	//go:embed revisions-sqlite.txt
	sqliteRevisions string
)

func find(list, revision string) (known, old bool) {
	before, since, _ := strings.Cut(list, "\n\n")
	return slices.Contains(strings.Fields(since), revision), slices.Contains(strings.Fields(before), revision)
}

type postgresql struct{}

func (postgresql) snapshot() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}

func (postgresql) columnsQuery() string {
	return "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()"
}

func (postgresql) revisions(revision string) (known, old bool) {
	return find(postgresqlRevisions, revision)
}

func (postgresql) text(column string, as valueType) string {
	switch as {
	case timeValue:
		return "to_char(" + column + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
	case intervalValue:
		return "extract(epoch FROM " + column + ")::text"
	}
	return column + "::text"
}

func (postgresql) time(text string) string { return text }

func (postgresql) seconds(text string) (string, bool) { return text, true }

type sqlite struct{}

func (sqlite) snapshot() *sql.TxOptions { return nil }

func (sqlite) columnsQuery() string {
	return "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
}

func (sqlite) revisions(revision string) (known, old bool) { return find(sqliteRevisions, revision) }

func (sqlite) text(column string, as valueType) string {
	if as == boolValue {
		return "CASE WHEN " + column + " IS NULL THEN NULL WHEN " + column + " THEN 'true' ELSE 'false' END"
	}
	return "CAST(" + column + " AS TEXT)"
}

// time returns the text of a time in RFC 3339. SQLAlchemy stores UTC without a zone.
func (sqlite) time(text string) string {
	if strings.ContainsAny(text, "Z+") || len(text) < len("2006-01-02 15:04:05") {
		return text
	}
	return strings.Replace(text, " ", "T", 1) + "Z"
}

// seconds returns the seconds of an interval. SQLAlchemy stores the time that is so much later than the beginning of 1970; the default of
// the schema is 0.
func (sqlite) seconds(text string) (string, bool) {
	if at, err := time.Parse("2006-01-02 15:04:05.999999", text); err == nil {
		return strconv.FormatFloat(at.Sub(time.Unix(0, 0)).Seconds(), 'f', -1, 64), true
	}
	_, err := strconv.ParseFloat(text, 64)
	return text, err == nil
}
