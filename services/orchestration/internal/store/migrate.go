package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/services/orchestration/internal/leader"
)

// Migration leads from one format to the next. It runs under a lease while replicas of the earlier version serve requests, so
// it leaves what they read. It may run twice: an interrupted one is repeated.
//
//	format N ──lease──► migration N … ──► format N+1 ──► …         other replicas wait for the supported format
type Migration struct {
	// From is the format that it changes.
	From int64
	// Name says what it changes.
	Name string
	Do   func(ctx context.Context, s *Store) error
}

// migrations are all of them, by ascending format. Format 1 is the first.
var migrations = []Migration{
	// Servers of format 1 write without opening hours, so hours are counted some time after the last of them has stopped.
	{From: 1, Name: "hours are opened before their documents change", Do: func(context.Context, *Store) error { return nil }},
}

// The lease of a migration is renewed while it runs; a replica that dies leaves it to another one.
const (
	migrationLease = "migration"
	migrationTerm  = 30 * time.Second
	migrationPoll  = time.Second
)

// migrate runs the migrations to the supported format, or waits until another replica has.
func (s *Store) migrate(ctx context.Context, found, supported int64, steps []Migration) error {
	lease := leader.NewLease(s, migrationLease, migrationTerm)
	for found < supported {
		held, err := lease.Lead(ctx, func(ctx context.Context) error {
			// The previous holder may have migrated since the format was read.
			current, err := s.readFormat(ctx)
			if err != nil {
				return err
			}
			return s.runMigrations(ctx, current, supported, steps)
		})
		if err != nil || held {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the migration of another replica: %w", ctx.Err())
		case <-time.After(migrationPoll):
		}
		if found, err = s.readFormat(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readFormat reads the format of the database, which exists.
func (s *Store) readFormat(ctx context.Context) (int64, error) {
	current, err := s.format(ctx)
	if err != nil {
		return 0, fmt.Errorf("read database format: %w", outage(err))
	}
	return current.Version, nil
}

// runMigrations runs each migration, and records its format after it.
func (s *Store) runMigrations(ctx context.Context, found, supported int64, steps []Migration) error {
	for _, step := range pendingMigrations(found, supported, steps) {
		slog.InfoContext(ctx, "database migration began", "from", step.From, "to", step.From+1, "migration", step.Name)
		if err := step.Do(ctx, s); err != nil {
			return fmt.Errorf("migrate database from format %d (%s): %w", step.From, step.Name, errors.Join(err, context.Cause(ctx)))
		}
		now, err := s.hourClock.Now(ctx)
		if err != nil {
			return fmt.Errorf("record database format %d: %w", step.From+1, err)
		}
		_, err = s.db.Collection(metaName).UpdateOne(ctx, bson.D{{Key: "_id", Value: "format"}, {Key: "version", Value: step.From}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: step.From + 1}, {Key: "changed", Value: now.UnixMicro()}}}})
		if err != nil {
			return fmt.Errorf("record database format %d: %w", step.From+1, outage(err))
		}
	}
	return nil
}

// pendingMigrations are those between two formats.
func pendingMigrations(found, supported int64, steps []Migration) (pending []Migration) {
	for _, step := range steps {
		if step.From >= found && step.From < supported {
			pending = append(pending, step)
		}
	}
	return pending
}

// UpgradePlan is what a start would change in a database.
type UpgradePlan struct {
	// Found is the format of the database, 0 for a new one; Supported is that of this program.
	Found, Supported int64
	// Program is the version of the program that claimed the database last, empty if it is unknown.
	Program string
	// Vocabulary is that of the database, empty for a new one.
	Vocabulary string
	// Migrations are the names of the pending migrations.
	Migrations []string
}

// PlanUpgrade reads what a start would change. It writes nothing.
func (s *Store) PlanUpgrade(ctx context.Context) (UpgradePlan, error) {
	found, err := s.format(ctx)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return UpgradePlan{Supported: FormatVersion}, nil
	}
	if err != nil {
		return UpgradePlan{}, fmt.Errorf("read database format: %w", outage(err))
	}
	plan := UpgradePlan{Found: found.Version, Supported: FormatVersion, Program: found.Program, Vocabulary: found.Vocabulary}
	for _, step := range pendingMigrations(found.Version, FormatVersion, migrations) {
		plan.Migrations = append(plan.Migrations, step.Name)
	}
	return plan, nil
}
