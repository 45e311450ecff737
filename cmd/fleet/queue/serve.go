package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/hibiken/asynq"
)

// silent is a logger for asynq. What a user needs to know about an outage is said by whoever gives the signs of life.
type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"lockstep: asynq:"}, args...)...)
	os.Exit(3)
}

// Serve begins to take shards of a build from the queue, up to a number of them at once. The function gets the ID of a search and the
// number of a shard. When it returns, asynq forgets the shard.
//
// The returned functions stop taking shards; and end the connection, after which the queue must be closed.
func (q *Queue) Serve(build string, slots int, f func(id string, shard int)) (stop, end func(), err error) {
	server := asynq.NewServerFromRedisClient(q.client, asynq.Config{
		Concurrency:     slots,
		Queues:          map[string]int{QueueOf(build): 1},
		Logger:          silent{},
		LogLevel:        asynq.FatalLevel,
		IsFailure:       func(error) bool { return false },
		RetryDelayFunc:  func(int, error, *asynq.Task) time.Duration { return -never },
		ShutdownTimeout: time.Second,
	})
	handle := func(_ context.Context, t *asynq.Task) error { // the context ends when asynq takes the shard away; see Queue
		var n news
		if err := json.Unmarshal(t.Payload(), &n); err != nil || t.Type() != taskType {
			return nil // somebody else's
		}
		f(n.Search, n.Shard)
		return nil
	}
	if err := server.Start(asynq.HandlerFunc(handle)); err != nil {
		return nil, nil, err
	}
	return server.Stop, server.Shutdown, nil
}
