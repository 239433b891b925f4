package outbox

import (
	"context"

	"github.com/google/uuid"
)

// deadLetterPage is the number of dead letters per read.
const deadLetterPage = 100

// Reencrypt encrypts the body of every dead letter with the first key, where another one did; without write it only examines.
// Reencrypt calls done for each dead letter, also after a failure.
func (r *Relay) Reencrypt(ctx context.Context, write bool, done func(changed bool, err error) error) error {
	var after uuid.UUID
	for {
		letters, err := r.store.DeadLetters(ctx, uuid.Nil, after, deadLetterPage)
		if err != nil {
			return err
		}
		for _, letter := range letters {
			after = letter.ID
			body, changed, err := r.secrets.Reseal(effectField(letter), letter.Body)
			switch {
			case !write:
				changed, err = changed || err != nil, nil
			case err == nil && changed:
				err = r.store.ReplaceDeadLetterBody(ctx, letter, body)
			}
			if err := done(changed && err == nil, err); err != nil {
				return err
			}
		}
		if len(letters) < deadLetterPage {
			return nil
		}
	}
}
