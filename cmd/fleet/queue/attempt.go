package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Verdicts of [Queue.Claim] and [Queue.Fail].
const (
	Go    = "go"    // work on it
	Gone  = "gone"  // the search is not known
	Done  = "done"  // somebody has done it
	Taken = "taken" // somebody else works on it
	Apart = "aside" // it is set aside
	Again = "again" // it shall be offered again
)

var claim = redis.NewScript(touch + bury + `
	local about = redis.call('HMGET', KEYS[1], 'build', 'command', 'of')
	if not about[1] then return {'gone'} end
	if redis.call('HEXISTS', KEYS[1] .. ':done', ARGV[1]) == 1 then return {'done'} end
	if redis.call('HEXISTS', KEYS[1] .. ':aside', ARGV[1]) == 1 then return {'aside'} end
	local holder = redis.call('HGET', KEYS[1] .. ':claim', ARGV[1])
	if holder ~= ARGV[2] then
		if holder then
			local worker = string.match(holder, '^[^/]*')
			if redis.call('EXISTS', KEYS[2] .. worker) == 1 then return {'taken'} end
			if bury(ARGV[1], ARGV[3], ARGV[4]) then touch() return {'aside'} end
		end
		redis.call('HSET', KEYS[1] .. ':claim', ARGV[1], ARGV[2])
		redis.call('HINCRBY', KEYS[1] .. ':next', ARGV[1], 1)
		touch()
	end
	return {'go', about[1], about[2], about[3]}`)

// NewAttempt names an attempt of a worker.
func NewAttempt(worker string) string { return worker + "/" + rand.Text() }

// Claim claims a shard of the search with this ID for an attempt. If the verdict is [Go], the search is returned.
func (q *Queue) Claim(ctx context.Context, id string, shard int, attempt string) (verdict string, s Search, err error) {
	said, err := claim.Run(ctx, q.client, []string{home + "search:" + id, home + "worker:"}, shard, attempt, Deaths, killer()).StringSlice()
	if err != nil {
		return "", s, q.Explain(ctx, err)
	}
	if said[0] != Go {
		return said[0], s, nil
	}
	if len(said) != 4 || json.Unmarshal([]byte(said[2]), &s.Command) != nil {
		return "", s, refusef(notOurs, q.server, home+"search:"+id)
	}
	s.Build, s.Of = said[1], number(said[3])
	return Go, s, nil
}

var finish = redis.NewScript(touch + `
	if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) return 0 end
	redis.call('HSET', KEYS[1] .. ':done', ARGV[1], ARGV[2])
	redis.call('HDEL', KEYS[1] .. ':claim', ARGV[1])
	redis.call('HDEL', KEYS[1] .. ':aside', ARGV[1])
	touch()
	return 1`)

// Finish stores what came out of a shard. If the search is not known, because it was forgotten or the server lost it, nothing is kept.
func (q *Queue) Finish(ctx context.Context, s Search, shard int, worker string, packed []byte) (kept bool, err error) {
	if err := q.client.WithTimeout(transferLimit).Set(ctx, dataKey(s, shard), packed, Kept).Err(); err != nil {
		return false, q.Explain(ctx, err, s)
	}
	kept, err = finish.Run(ctx, q.client, []string{key(s), dataKey(s, shard)}, shard, worker).Bool()
	return kept, q.Explain(ctx, err, s)
}

// Fetch returns what came out of a shard, or nil if the server has lost it. Then the shard is no longer done.
func (q *Queue) Fetch(ctx context.Context, s Search, shard int) ([]byte, error) {
	packed, err := q.client.WithTimeout(transferLimit).Get(ctx, dataKey(s, shard)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, q.Undo(ctx, s, shard)
	}
	return packed, q.Explain(ctx, err, s)
}

// Undo makes a shard one that is not done, because what came out is lost or damaged.
func (q *Queue) Undo(ctx context.Context, s Search, shard int) error {
	_, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, key(s)+":done", strconv.Itoa(shard))
		p.Del(ctx, dataKey(s, shard))
		return nil
	})
	return q.Explain(ctx, err, s)
}

var fail = redis.NewScript(touch + `
	if redis.call('HGET', KEYS[1] .. ':claim', ARGV[1]) ~= ARGV[2] then return {'taken'} end
	redis.call('HDEL', KEYS[1] .. ':claim', ARGV[1])
	if redis.call('HINCRBY', KEYS[1] .. ':fails', ARGV[1], 1) >= tonumber(ARGV[3]) then
		redis.call('HSET', KEYS[1] .. ':aside', ARGV[1], ARGV[4])
		touch()
		return {'aside'}
	end
	touch()
	return {'again', redis.call('HGET', KEYS[1] .. ':next', ARGV[1]) or '0'}`)

// Fail ends an attempt that failed. After several failures, or at once if it is hopeless, the shard is set aside; otherwise it is
// offered again.
func (q *Queue) Fail(ctx context.Context, s Search, shard int, attempt string, hopeless bool, why Aside) (verdict string, err error) {
	limit := Failures
	if hopeless {
		limit = 1
	}
	return q.end(ctx, s, shard, fail, attempt, limit, why.text())
}

var release = redis.NewScript(touch + `
	if redis.call('HGET', KEYS[1] .. ':claim', ARGV[1]) ~= ARGV[2] then return {'taken'} end
	redis.call('HDEL', KEYS[1] .. ':claim', ARGV[1])
	touch()
	return {'again', redis.call('HGET', KEYS[1] .. ':next', ARGV[1]) or '0'}`)

// Release gives a shard back that was claimed for an attempt. The attempt counts neither as a failure nor as a death.
func (q *Queue) Release(ctx context.Context, s Search, shard int, attempt string) error {
	_, err := q.end(ctx, s, shard, release, attempt)
	return err
}

func (q *Queue) end(ctx context.Context, s Search, shard int, script *redis.Script, args ...any) (string, error) {
	said, err := script.Run(ctx, q.client, []string{key(s)}, append([]any{shard}, args...)...).StringSlice()
	if err != nil {
		return "", q.Explain(ctx, err, s)
	}
	if said[0] == Again {
		_, _, err = q.Offer(ctx, s, shard, int64(number(said[1])))
	}
	return said[0], err
}
