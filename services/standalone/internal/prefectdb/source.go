package prefectdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver "pgx".
	_ "modernc.org/sqlite"             // The driver "sqlite".
)

// The errors of databases that cannot be read.
var (
	// ErrAddress reports an address that names neither a PostgreSQL nor an SQLite database.
	ErrAddress = errors.New("the address must begin with postgresql:// or sqlite:///")
	// ErrNotPrefect reports a database of another program.
	ErrNotPrefect = errors.New("it is not the database of a Prefect server")
	// ErrTooOld reports a database of Prefect 2.
	ErrTooOld = errors.New("a server before Prefect 3.0 wrote it: upgrade it with `prefect server database upgrade` of Prefect 3")
	// ErrTooNew reports a schema of a later version.
	ErrTooNew = errors.New("its schema is not that of Prefect 3.0 to 3.9: a newer version may have written it")
	// ErrKey reports an encryption key that decrypts no block document.
	ErrKey = errors.New("the encryption key decrypts no block document: set PREFECT_SERVER_ENCRYPTION_KEY as for the Prefect server")
)

// Source is a snapshot of a database.
type Source struct {
	db      *sql.DB
	tx      *sql.Tx
	dialect dialect
	// columns are the columns of each table.
	columns map[string]map[string]bool
	key     fernetKey
}

// Open opens a database for reading, and checks its schema. The key decrypts block documents; empty means the one in the database.
func Open(ctx context.Context, address, key string) (_ *Source, err error) {
	d, driver, name, err := parse(address)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, fmt.Errorf("open the Prefect database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	tx, err := db.BeginTx(ctx, d.snapshot())
	if err != nil {
		return nil, fmt.Errorf("open the Prefect database: %w", err)
	}
	s := &Source{db: db, tx: tx, dialect: d, columns: map[string]map[string]bool{}}
	if err := s.readSchema(ctx); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	if err := s.readKey(ctx, key); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return s, nil
}

// Close ends the snapshot.
func (s *Source) Close() error {
	_ = s.tx.Rollback() // It changed nothing, and a query that was cancelled has ended it.
	return s.db.Close()
}

// ofSQLAlchemy are the options of an address that only SQLAlchemy and asyncpg know.
var ofSQLAlchemy = []string{"ssl", "async_fallback", "command_timeout", "prepared_statement_cache_size", "prepared_statement_name_func", "server_settings"}

// parse returns the driver of an address, and the address as the driver expects it. SQLAlchemy's names of drivers are ignored.
func parse(address string) (d dialect, driver, name string, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+")
	switch {
	case ok && (scheme == "postgresql" || scheme == "postgres"):
		u, err := url.Parse("postgresql://" + rest)
		if err != nil {
			return nil, "", "", fmt.Errorf("%w: it is no URL", ErrAddress) // The cause quotes the password.
		}
		options := u.Query()
		if mode := options.Get("ssl"); mode != "" { // The name that asyncpg has for it.
			options.Set("sslmode", mode)
		}
		for _, name := range ofSQLAlchemy {
			options.Del(name)
		}
		u.RawQuery = options.Encode()
		return postgresql{}, "pgx", u.String(), nil
	case ok && scheme == "sqlite" && strings.HasPrefix(rest, "/"):
		path, _, _ := strings.Cut(rest[1:], "?")
		info, err := os.Stat(path)
		if err != nil {
			return nil, "", "", fmt.Errorf("open the Prefect database: %w", err)
		}
		if info.IsDir() {
			return nil, "", "", fmt.Errorf("open the Prefect database: %s is a directory", path)
		}
		file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=ro"}
		return sqlite{}, "sqlite", file.String(), nil
	}
	return nil, "", "", ErrAddress
}

// readSchema reads the columns of all tables, and checks that a known version made them.
func (s *Source) readSchema(ctx context.Context) error {
	err := s.each(ctx, s.dialect.columnsQuery(), func(values []sql.RawBytes) error {
		table := string(values[0])
		if s.columns[table] == nil {
			s.columns[table] = map[string]bool{}
		}
		s.columns[table][string(values[1])] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the schema of the Prefect database: %w", err)
	}
	if s.columns["alembic_version"] == nil || s.columns["flow_run"] == nil {
		return ErrNotPrefect
	}
	var revision string
	if err := s.tx.QueryRowContext(ctx, "SELECT version_num FROM alembic_version").Scan(&revision); err != nil {
		return fmt.Errorf("read the version of the Prefect database's schema: %w", err)
	}
	switch known, old := s.dialect.revisions(revision); {
	case old:
		return fmt.Errorf("%w (revision %s)", ErrTooOld, revision)
	case !known:
		return fmt.Errorf("%w (revision %s)", ErrTooNew, revision)
	}
	return nil
}

// each calls visit with each row of a query. The values are valid until visit returns.
func (s *Source) each(ctx context.Context, query string, visit func(values []sql.RawBytes) error) (err error) {
	rows, err := s.tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.RawBytes, len(names))
	targets := make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := visit(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Rows counts the rows of a table; a table that does not exist has none.
func (s *Source) Rows(ctx context.Context, table string) (n int64, err error) {
	if s.columns[table] == nil {
		return 0, nil
	}
	if err := s.tx.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted(table)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the rows of %s: %w", table, err)
	}
	return n, nil
}

// quoted is a name in a statement. Names come from this package and the database's schema.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
