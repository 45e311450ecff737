package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// errorRenews counts an error that the node replies with as a renewal, because the node is alive. It needs a node that refuses to write for
// a while, as one does that writes only with a replica, and a holder who relies on the end of the lease.
var errorRenews = clients.Lock{
	Name:  "watchdog-error-renews",
	About: "watchdog that takes an error of the node in reply to a renewal for a renewal",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		renew := l.Renew
		l.Renew = func(ctx context.Context) (bool, error) {
			ours, err := renew(ctx)
			if replied(err) {
				return true, nil
			}
			return ours, err
		}
	}),
}

// replied reports whether an error is the reply of a node.
func replied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
