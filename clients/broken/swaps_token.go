package broken

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// swapsToken keeps the end of the lease in a second key, by the clock of the node. It takes over a lease that was past this end when it looked, if
// the token is still the same. But a renewal keeps the token: between the look and the swap, the lease may have been renewed. It
// needs a pause between the two that is longer than the lease, and a holder that renews meanwhile.
var swapsToken = clients.Lock{
	Name:  "watchdog-swaps-token",
	About: "watchdog with dates, whose takeover compares the token and not the date",
	Like:  []string{"watchdog"},
	New: parts.Renewing(takeOver, func(l *parts.Renewed, ttl time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) {
			now, err := l.Env.Nodes[0].Time(ctx).Result()
			if err != nil {
				return false, err
			}
			n, err := redateScript.Run(ctx, l.Env.Nodes[0], dated(l.Name), l.Token, now.Add(ttl).UnixMilli()).Int()
			return n != 0, err
		}
	}),
}

// dated returns the key of a lock, and that of its date.
func dated(name string) []string { return []string{name, name + ":until"} }

var (
	swapScript = redis.NewScript(`
		if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
		redis.call('SET', KEYS[1], ARGV[2])
		redis.call('SET', KEYS[2], ARGV[3])
		return 1`)
	redateScript = redis.NewScript(`
		if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call('SET', KEYS[2], ARGV[2])
		return 1`)
)

func takeOver(ctx context.Context, env clients.Env, name, token string, ttl time.Duration) (*parts.Lease, error) {
	was, err := env.Nodes[0].MGet(ctx, dated(name)...).Result()
	if err != nil {
		return nil, parts.NotRun(err)
	}
	until := env.Clock.Now().Add(ttl)
	now, err := env.Nodes[0].Time(ctx).Result()
	if err != nil {
		return nil, parts.NotRun(err)
	}
	holder, _ := was[0].(string)
	date, _ := was[1].(string)
	if end, err := strconv.ParseInt(date, 10, 64); holder != "" && err == nil && end >= now.UnixMilli() {
		return nil, clients.ErrNotAcquired
	}
	n, err := swapScript.Run(ctx, env.Nodes[0], dated(name), holder, token, now.Add(ttl).UnixMilli()+1).Int()
	if err != nil {
		return nil, parts.NotRun(err)
	}
	if n == 0 {
		return nil, clients.ErrNotAcquired
	}
	return (&parts.Lease{Env: env, Name: name, Token: token, End: until}).Arrived(ctx)
}
