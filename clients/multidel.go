package clients

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewMultiDel is the lock of [NewSingle] with the release of nemo2018, examples 3 and 4, releaseLock: GET, and if the value is
// the token, MULTI, DEL, EXEC. Without WATCH before the GET the transaction protects nothing: it contains only one command, and
// the value may have changed after the comparison. The reply to DEL is ignored.
//
// phpredis sends the three commands one after the other; here they are sent together, at the moment at which phpredis would send
// MULTI.
func NewMultiDel(env Env) Locker { return &multiDel{env} }

type multiDel struct{ env Env }

func (l *multiDel) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, newToken(l.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	return &multiDelLease{lease}, nil
}

type multiDelLease struct{ *singleLease }

func (l *multiDelLease) Release(ctx context.Context) error {
	if err := l.compare(ctx); err != nil {
		return err
	}
	_, err := l.env.Nodes[0].TxPipelined(ctx, func(queue redis.Pipeliner) error { return queue.Del(ctx, l.name).Err() })
	return err
}
