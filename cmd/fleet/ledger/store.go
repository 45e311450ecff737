package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// format is the version of the layout of the file, which has it as its user_version. Increase it with each change of the layout, and make
// migrate convert the older ones.
const format = 1

// application marks the file as a ledger: it is the application_id of the database, "LSLG".
const application = 0x4c534c47

// layout makes the tables. What follows from others is not stored, except for the columns of findings after closed_after: they save a list
// from judging everything again.
const layout = `
CREATE TABLE nights (
	id INTEGER PRIMARY KEY, -- in the order in which they were first added to
	label TEXT NOT NULL UNIQUE
);
CREATE TABLE visits (
	id INTEGER PRIMARY KEY,
	night INTEGER NOT NULL REFERENCES nights,
	digest BLOB NOT NULL, -- of what was added
	lock TEXT NOT NULL,
	version TEXT NOT NULL, -- of the lock
	build TEXT NOT NULL, -- of Lockstep; its version if an older program has added it
	replayed INTEGER NOT NULL,
	search TEXT NOT NULL, -- how it searched, in JSON
	UNIQUE (night, digest)
);
CREATE INDEX visits_of ON visits (lock, night);
CREATE TABLE findings (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	lock TEXT NOT NULL,
	property TEXT NOT NULL,
	assumption TEXT NOT NULL,
	shape TEXT NOT NULL,
	title TEXT NOT NULL,
	story TEXT NOT NULL,
	size INTEGER NOT NULL,
	scenario TEXT NOT NULL, -- the smallest one; empty if there is none
	token TEXT NOT NULL,
	closed TEXT, -- why a person closed it
	closed_after INTEGER REFERENCES nights, -- the newest night by then
	state TEXT NOT NULL DEFAULT 'new',
	first INTEGER, -- the nights on which it was first and last there
	last INTEGER,
	judged INTEGER, -- the last night that says something about it
	nights INTEGER NOT NULL DEFAULT 0, -- on how many it was there
	UNIQUE (lock, property, assumption, shape)
);
CREATE TABLE sightings (
	finding INTEGER NOT NULL REFERENCES findings,
	visit INTEGER NOT NULL REFERENCES visits,
	what INTEGER NOT NULL, -- an Outcome
	kinds TEXT NOT NULL, -- of the perturbations with which it was found
	PRIMARY KEY (finding, visit)
) WITHOUT ROWID;
`

// patience is how long a process waits for another one that writes to the same ledger.
const patience = time.Minute

// A Ledger is an open file.
type Ledger struct {
	file string
	db   *sql.DB
}

// Open opens the ledger in a file. If there is none, it makes one if create is set.
func Open(ctx context.Context, file string, create bool) (*Ledger, error) {
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil, fmt.Errorf("%s: there is no ledger; make it with lockstep ledger add FILE, or name another file with --ledger", file)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: a ledger must be a regular file", file)
	default:
		if err := checkHeader(file); err != nil {
			return nil, err
		}
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	mode := "rw"
	if create {
		mode = "rwc"
	}
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_busy_timeout": {fmt.Sprint(patience.Milliseconds())}, "_foreign_keys": {"1"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	l := &Ledger{file, db}
	if err := l.check(ctx, create); err != nil {
		db.Close()
		return nil, l.told(err)
	}
	return l, nil
}

// notLedger is what is wrong with a file that is no database.
const notLedger = "it is not a ledger, which is an SQLite database; --ledger must name one that lockstep ledger add has made"

// checkHeader returns an error if a file is neither empty nor a database. SQLite takes a file of a few bytes for an empty one, and would
// overwrite it.
func checkHeader(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	const header = "SQLite format 3\x00"
	begin := make([]byte, len(header))
	if n, err := io.ReadFull(f, begin); n > 0 && (err != nil || string(begin) != header) {
		return fmt.Errorf("%s: %s", file, notLedger)
	}
	return nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.db.Close() }

// check makes sure that the file is a ledger of this format, and makes the tables of an empty one.
func (l *Ledger) check(ctx context.Context, create bool) error {
	is, err := l.is(ctx, l.db)
	if is || err != nil {
		return err
	}
	if !create {
		return fmt.Errorf("%s: it is empty; lockstep ledger add FILE makes it a ledger", l.file)
	}
	return l.write(ctx, func(tx *sql.Tx) error {
		if is, err := l.is(ctx, tx); is || err != nil { // another process may have been faster
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", application, format, layout))
		return err
	})
}

// is reports whether the file is a ledger; it is not if it is empty. Anything else is an error.
func (l *Ledger) is(ctx context.Context, q querier) (bool, error) {
	var app, version, tables int
	err := q.QueryRowContext(ctx, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version").
		Scan(&app, &version, &tables) // in one statement: another process may be making the tables
	if err != nil {
		return false, err
	}
	switch {
	case app == 0 && version == 0 && tables == 0:
		return false, nil
	case app != application:
		return false, fmt.Errorf("%s: it is a database of another program; --ledger must name one that lockstep ledger add has made", l.file)
	case version != format:
		return false, fmt.Errorf("%s: its format is %d, and this program knows formats up to %d; use a newer Lockstep", l.file, version, format)
	}
	return true, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write makes a change, or nothing if there is an error. Other processes that write wait meanwhile.
func (l *Ledger) write(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return l.told(err)
	}
	defer tx.Rollback()
	if err := change(tx); err != nil {
		return l.told(err)
	}
	return l.told(tx.Commit())
}

// damaged is an error about a value that this program does not write. The file may come from anywhere, such as the cache of a CI server.
type damaged struct{ what string }

func (d damaged) Error() string { return d.what }

// restore says what to do about a ledger that is damaged.
const restore = "restore a backup, such as the one in the last artifact"

// told puts an error of SQLite, or about a value in it, into words that say what is required. Other errors stay as they are.
func (l *Ledger) told(err error) error {
	if d, ok := errors.AsType[damaged](err); ok {
		return fmt.Errorf("%s: the ledger is damaged: %s; "+restore, l.file, d.what)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") { // which has no type
			return l.told(damaged{"a value has the wrong type"})
		}
		return err
	}
	say := map[int]string{
		sqlite3.SQLITE_NOTADB:     notLedger,
		sqlite3.SQLITE_CORRUPT:    "the database is damaged; " + restore,
		sqlite3.SQLITE_CONSTRAINT: "the ledger is damaged: a value does not agree with the others; " + restore,
		sqlite3.SQLITE_ERROR:      "the ledger is damaged: a table or a column is missing; " + restore,
		sqlite3.SQLITE_FULL:       "the disk is full, and nothing was changed; it must have room for the ledger",
		sqlite3.SQLITE_READONLY:   "it is read-only, and nothing was changed; the file and its directory must be writable",
		sqlite3.SQLITE_CANTOPEN:   "it cannot be opened; its directory must exist, and be writable",
		sqlite3.SQLITE_IOERR:      "it cannot be read or written, and nothing was changed; the disk must work, and have room",
		sqlite3.SQLITE_PERM:       "it cannot be opened; the file must be readable",
		sqlite3.SQLITE_BUSY:       fmt.Sprintf("another process has been writing to it for %v, and nothing was changed; try again when it is done", patience),
	}[e.Code()&0xff]
	if say == "" {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	return fmt.Errorf("%s: %s", l.file, say)
}
