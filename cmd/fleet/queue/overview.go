package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// A Worker is what a worker says about itself.
type Worker struct {
	ID    string `json:"id"`
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Build string `json:"build"`
	Slots int    `json:"workers"` // how many shards it works on at once
	// Unfit are the IDs of searches that cannot be played on the machine of this worker.
	Unfit []string `json:"unfit,omitempty"`
}

// SignOfLife says that a worker is alive, for the next [Alive].
func (q *Queue) SignOfLife(ctx context.Context, w Worker) error {
	// A server that is full still accepts the first command.
	there, err := q.client.PExpire(ctx, home+"worker:"+w.ID, Alive).Result()
	if err != nil || there {
		return q.Explain(ctx, err)
	}
	return q.Introduce(ctx, w)
}

// Introduce is a sign of life with a description of the worker. It is sent first, and again when the description changes.
func (q *Queue) Introduce(ctx context.Context, w Worker) error {
	about, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return q.Explain(ctx, hello.Run(ctx, q.client, []string{home + "worker:" + w.ID, home + "workers"}, w.ID, about, Alive.Milliseconds()).Err())
}

var hello = redis.NewScript(`
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
	return redis.call('SADD', KEYS[2], ARGV[1])`)

// Ahead returns by how much the clock of this machine is ahead of the server's.
func (q *Queue) Ahead(ctx context.Context) (time.Duration, error) {
	asked := time.Now()
	server, err := q.client.Time(ctx).Result()
	took := time.Since(asked)
	return asked.Add(took / 2).Sub(server), q.Explain(ctx, err)
}

// Leave says that a worker has ended.
func (q *Queue) Leave(ctx context.Context, w Worker) error {
	_, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, home+"worker:"+w.ID)
		p.SRem(ctx, home+"workers", w.ID)
		return nil
	})
	return q.Explain(ctx, err)
}

var workers = redis.NewScript(`
	local all = {}
	for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
		local about = redis.call('GET', KEYS[2] .. id)
		if about then all[#all + 1] = about else redis.call('SREM', KEYS[1], id) end
	end
	return all`)

// Workers returns the workers that are alive.
func (q *Queue) Workers(ctx context.Context) ([]Worker, error) {
	texts, err := workers.Run(ctx, q.client, []string{home + "workers", home + "worker:"}).StringSlice()
	if err != nil {
		return nil, q.Explain(ctx, err)
	}
	all := []Worker{}
	for _, text := range texts {
		var w Worker
		if json.Unmarshal([]byte(text), &w) == nil {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Worker) int {
		return strings.Compare(a.Host+" "+a.ID, b.Host+" "+b.ID)
	})
	return all, nil
}

// Known is a search in the queue.
type Known struct {
	Search
	Age time.Duration // by the clock of the server
}

// Searches returns all searches, the oldest first.
func (q *Queue) Searches(ctx context.Context) ([]Known, error) {
	now, err := q.client.Time(ctx).Result()
	if err != nil {
		return nil, q.Explain(ctx, err)
	}
	ids, err := q.client.SMembers(ctx, home+"searches").Result()
	if err != nil {
		return nil, q.Explain(ctx, err)
	}
	var all []Known
	for _, id := range ids {
		about, err := q.client.HGetAll(ctx, home+"search:"+id).Result()
		if err != nil {
			return nil, q.Explain(ctx, err)
		}
		k := Known{Search: Search{Build: about["build"], Of: number(about["of"])}}
		if json.Unmarshal([]byte(about["command"]), &k.Command) != nil || k.ID() != id { // its life is over
			q.client.SRem(ctx, home+"searches", id)
			continue
		}
		k.Age = now.Sub(time.Unix(int64(number(about["began"])), 0)).Truncate(time.Second)
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Known) int {
		if a.Age != b.Age {
			return int((b.Age - a.Age) / time.Second)
		}
		return strings.Compare(a.ID(), b.ID())
	})
	return all, nil
}

// Forget removes a search, and nothing else. What is in asynq is removed if nobody works on it; otherwise its worker drops it.
func (q *Queue) Forget(ctx context.Context, s Search) error {
	state, err := q.Look(ctx, s)
	if err != nil {
		return err
	}
	if err := q.client.Set(ctx, key(s)+":forgotten", 1, forgottenFor).Err(); err != nil && !strings.Contains(err.Error(), "OOM") {
		return q.Explain(ctx, err, s)
	}
	keys := []string{key(s)}
	for _, part := range parts {
		keys = append(keys, key(s)+":"+part)
	}
	for n := range s.Of {
		keys = append(keys, dataKey(s, n+1))
	}
	for some := range slices.Chunk(keys, 500) {
		if err := q.client.Unlink(ctx, some...).Err(); err != nil {
			return q.Explain(ctx, err, s)
		}
	}
	if err := q.client.SRem(ctx, home+"searches", s.ID()).Err(); err != nil {
		return q.Explain(ctx, err, s)
	}
	for n := 1; n <= s.Of; n++ {
		if state.Done[n] {
			continue
		}
		err := q.inspector.DeleteTask(QueueOf(s.Build), s.task(n, state.Next[n]))
		switch {
		case errors.Is(err, asynq.ErrQueueNotFound):
			return nil
		case err == nil, errors.Is(err, asynq.ErrTaskNotFound), strings.Contains(err.Error(), "active"):
		default:
			return fmt.Errorf("the search is forgotten, but its tasks remain in asynq: %w", q.Explain(ctx, err, s))
		}
	}
	return nil
}
