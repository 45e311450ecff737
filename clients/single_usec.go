package clients

import (
	"context"
	"fmt"
	"time"
)

// NewSingleUsec is the lock of [NewSingle] whose token is the time in microseconds by the client's wall clock, as PHP's uniqid()
// makes it (nemo2018, examples 3 and 4). Two clients whose clocks show the same microsecond when they ask have the same token,
// and each can release the lock of the other. anon-setnx, after the Redis documentation, allows a time in microseconds only
// together with a client ID, which uniqid() leaves out.
func NewSingleUsec(env Env) Locker { return &singleUsec{env} }

type singleUsec struct{ env Env }

func (l *singleUsec) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, uniqid(l.env.Wall.Now()), ttl)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// uniqid is the function of PHP: seconds and microseconds as 8 and 5 hexadecimal digits
// (https://www.php.net/manual/en/function.uniqid.php).
func uniqid(t time.Time) string {
	return fmt.Sprintf("%08x%05x", t.Unix(), t.Nanosecond()/int(time.Microsecond))
}
