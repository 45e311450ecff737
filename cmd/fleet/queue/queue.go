package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// A Queue is the book that is kept of all searches in a Redis server, and the way to give out shards.
//
// Under lockstep:fleet: there are these keys; ID is that of a search, N the number of a shard.
//
//	searches         set     the IDs of all searches
//	workers          set     the ids of all workers
//	worker:W         string  what worker W is; it lives for [Alive] after the last sign of life
//	search:ID        hash    build, command, number of shards, when it began
//	search:ID:done   hash    N -> the worker that carried it out
//	search:ID:claim  hash    N -> the worker that carries it out, and a token of its attempt
//	search:ID:next   hash    N -> the generation of its next task in asynq
//	search:ID:fails  hash    N -> how often it failed
//	search:ID:deaths hash    N -> how often its worker died
//	search:ID:aside  hash    N -> why it is set aside, with the last output
//	search:ID:data:N string  what came out, as [Pack] makes it
//
// Every change is one script, so nobody sees half of it, and a change that is made twice has no further effect. All times are lives
// of keys, which the server measures. The clocks of the machines are never compared.
//
// asynq does compare them, so it may be wrong about what is lost. In version 0.26 a worker notes in a sorted set that its shard is its
// own until 30 s from now by its own clock, and does so every 5 s. Each worker, every minute, takes shards whose note is older than
// 30 s by its own clock, and moves them back. So if two clocks differ by a minute, shards are taken from workers that are alive, again
// and again. If asynq counted that as a failure, it would archive the shard after some attempts. And it puts back a shard for a moment
// that it computes by one clock and compares with another: after a clock that is a day ahead, a shard could wait for a day. All of
// this is harmless here:
//
//   - asynq counts nothing as a failure, has no limit of attempts and no timeout that matters: failures are counted in the book.
//   - The delay of a retry is negative by more than clocks can differ. So each worker regards it as over.
//   - A worker that gets a shard which another live worker has claimed drops it, so the shard is not even carried out twice. The same
//     holds for a shard that is done, or whose search is forgotten.
//   - A task that asynq has lost, or keeps as active although nobody claims it, gets a successor with a new id. The submitters of the
//     search look for such tasks.
type Queue struct {
	// Warning says what may be a problem with the server; mostly it is empty.
	Warning string

	server    Server
	client    *redis.Client
	tasks     *asynq.Client
	inspector *asynq.Inspector
}

const (
	home = "lockstep:fleet:"

	// Alive is how long a worker counts as alive after its last sign of life.
	Alive = 10 * time.Second
	// Sign is how often a worker gives a sign of life.
	Sign = 2 * time.Second
	// Kept is how long a search is kept after the last thing that happened to it.
	Kept = 7 * 24 * time.Hour
	// Failures is how often a shard may fail before it is set aside.
	Failures = 3
	// Deaths is how often the worker of a shard may die before the shard is set aside. Workers are killed for reasons of their own,
	// so a death says less than a failure.
	Deaths = 10
	// MostShards is the greatest number of shards of a search.
	MostShards = 10_000

	forgottenFor = time.Minute
	never        = 10 * 365 * 24 * time.Hour
	taskType     = "lockstep:shard"
)

// mute is a logger for go-redis, whose errors are returned anyway.
type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

// Open connects to a server, and checks that it can hold the queue.
func Open(ctx context.Context, s Server) (*Queue, error) {
	redis.SetLogger(mute{})
	client := redis.NewClient(s.options)
	client.AddHook(paced{})
	q := &Queue{server: s, client: client, tasks: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client)}
	if err := q.inspect(ctx); err != nil {
		client.Close()
		return nil, err
	}
	q.server.known = true
	if err := q.foreign(ctx, nil); err != nil {
		client.Close()
		return nil, err
	}
	return q, nil
}

// Close closes the connections.
func (q *Queue) Close() error { return q.client.Close() }

// String names the server without credentials.
func (q *Queue) String() string { return q.server.String() }

// Explain says in one line what an error of the queue means. If somebody else uses one of its keys, it names the key.
func (q *Queue) Explain(ctx context.Context, err error, s ...Search) error {
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") {
		var of *Search
		if len(s) > 0 {
			of = &s[0]
		}
		if named := q.foreign(ctx, of); named != nil {
			return named
		}
	}
	return q.server.Explain(err)
}

func key(s Search) string { return home + "search:" + s.ID() }

func dataKey(s Search, shard int) string { return fmt.Sprintf("%s:data:%d", key(s), shard) }

// notOurs is the message about a key that has our name, and was not made by us.
const notOurs = "%s has a key %s that does not belong to Lockstep; use another database (redis://HOST:PORT/1) or server"

var parts = []string{"done", "claim", "next", "fails", "deaths", "aside"}

// foreign returns an error that names a key which has our name but another type.
func (q *Queue) foreign(ctx context.Context, s *Search) error {
	types := map[string]string{
		home + "searches": "set", home + "workers": "set",
		"asynq:queues": "set", "asynq:servers": "zset", "asynq:workers": "zset",
	}
	if s != nil {
		types[key(*s)] = "hash"
		for _, part := range parts {
			types[key(*s)+":"+part] = "hash"
		}
		queue := "asynq:{" + QueueOf(s.Build) + "}:"
		for name, kind := range map[string]string{"pending": "list", "active": "list", "lease": "zset", "retry": "zset", "scheduled": "zset", "completed": "zset"} {
			types[queue+name] = kind
		}
		for n := range min(s.Of, 1000) {
			types[dataKey(*s, n+1)] = "string"
		}
	}
	names := slices.Sorted(maps.Keys(types))
	found := make([]*redis.StatusCmd, len(names))
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			found[i] = p.Type(ctx, name)
		}
		return nil
	})
	if err != nil {
		return q.server.Explain(err)
	}
	for i, name := range names {
		if kind := found[i].Val(); kind != "none" && kind != types[name] {
			return refusef(notOurs, q.server, name)
		}
	}
	return nil
}

// touch is a function of the scripts. It prolongs the life of all that is known about a search.
var touch = func() string {
	text := "local function touch()\n redis.call('PEXPIRE', KEYS[1], " + strconv.FormatInt(Kept.Milliseconds(), 10) + ")\n"
	for _, part := range parts {
		text += fmt.Sprintf(" redis.call('PEXPIRE', KEYS[1] .. ':%s', %d)\n", part, Kept.Milliseconds())
	}
	return text + "end\n"
}()

// begin creates a search unless it is there.
var begin = redis.NewScript(touch + `
	local new = redis.call('EXISTS', KEYS[1]) == 0
	if new then
		redis.call('HSET', KEYS[1], 'build', ARGV[2], 'command', ARGV[3], 'of', ARGV[4], 'began', redis.call('TIME')[1])
	end
	redis.call('SADD', KEYS[2], ARGV[1])
	touch()
	return {new and 1 or 0, redis.call('HGET', KEYS[1], 'build') or ''}`)

// Begin creates a search unless it is there already, and says whether it was new.
func (q *Queue) Begin(ctx context.Context, s Search) (bool, error) {
	command, err := json.Marshal(s.Command)
	if err != nil {
		return false, err
	}
	said, err := begin.Run(ctx, q.client, []string{key(s), home + "searches"}, s.ID(), s.Build, string(command), s.Of).Slice()
	if err != nil {
		return false, q.Explain(ctx, err, s)
	}
	if said[1] != s.Build {
		return false, refusef(notOurs, q.server, key(s))
	}
	return said[0] == int64(1), nil
}

// Forgotten says whether the search was forgotten on purpose a moment ago.
func (q *Queue) Forgotten(ctx context.Context, s Search) (bool, error) {
	n, err := q.client.Exists(ctx, key(s)+":forgotten").Result()
	return n == 1, q.Explain(ctx, err, s)
}

// Join prepares for a search that is to begin or to go on: it checks that its keys are ours, and undoes the mark of [Queue.Forget].
func (q *Queue) Join(ctx context.Context, s Search) error {
	if err := q.foreign(ctx, &s); err != nil {
		return err
	}
	return q.Explain(ctx, q.client.Del(ctx, key(s)+":forgotten").Err(), s)
}

// State is what the book says about a search.
type State struct {
	Known bool // the server has not lost the search
	Done  map[int]bool
	Claim map[int]string // the attempt that carries a shard out
	Next  map[int]int64
	Aside map[int]bool
	Alive map[string]bool // the workers among the claims that are alive
}

// Look reads what the book says about a search.
func (q *Queue) Look(ctx context.Context, s Search) (State, error) {
	var exists *redis.IntCmd
	var done, aside *redis.StringSliceCmd
	var claim, next *redis.MapStringStringCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		exists = p.Exists(ctx, key(s))
		done = p.HKeys(ctx, key(s)+":done")
		aside = p.HKeys(ctx, key(s)+":aside")
		claim = p.HGetAll(ctx, key(s)+":claim")
		next = p.HGetAll(ctx, key(s)+":next")
		return nil
	})
	if err != nil {
		return State{}, q.Explain(ctx, err, s)
	}
	state := State{exists.Val() == 1, map[int]bool{}, map[int]string{}, map[int]int64{}, map[int]bool{}, map[string]bool{}}
	for _, n := range done.Val() {
		state.Done[number(n)] = true
	}
	for _, n := range aside.Val() {
		state.Aside[number(n)] = true
	}
	for n, g := range next.Val() {
		state.Next[number(n)] = int64(number(g))
	}
	var workers []string
	for n, attempt := range claim.Val() {
		state.Claim[number(n)] = attempt
		workers = append(workers, workerOf(attempt))
	}
	slices.Sort(workers)
	workers = slices.Compact(workers)
	if len(workers) == 0 {
		return state, nil
	}
	keys := make([]string, len(workers))
	for i, w := range workers {
		keys[i] = home + "worker:" + w
	}
	there, err := q.client.MGet(ctx, keys...).Result()
	if err != nil {
		return State{}, q.Explain(ctx, err, s)
	}
	for i, w := range workers {
		state.Alive[w] = there[i] != nil
	}
	return state, nil
}

// UnderWay says whether a worker that is alive has claimed a shard.
func (st State) UnderWay(shard int) bool {
	attempt := st.Claim[shard]
	return attempt != "" && st.Alive[workerOf(attempt)]
}

// AnyUnderWay says whether a worker that is alive has claimed some shard.
func (st State) AnyUnderWay() bool {
	for n := range st.Claim {
		if st.UnderWay(n) {
			return true
		}
	}
	return false
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// An attempt to carry out a shard is named by its worker and a token.
func workerOf(attempt string) string {
	worker, _, _ := strings.Cut(attempt, "/")
	return worker
}

type news struct {
	Search string `json:"search"`
	Shard  int    `json:"shard"`
}

// Offer tells workers that a shard can be worked on. It has no effect if its present task is in the queue already; waits says so.
func (q *Queue) Offer(ctx context.Context, s Search, shard int, generation int64) (task string, waits bool, err error) {
	payload, err := json.Marshal(news{s.ID(), shard})
	if err != nil {
		return "", false, err
	}
	task = s.task(shard, generation)
	_, err = q.tasks.EnqueueContext(ctx, asynq.NewTask(taskType, payload),
		asynq.Queue(QueueOf(s.Build)), asynq.TaskID(task), asynq.MaxRetry(1<<30), asynq.Timeout(never))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return task, true, nil
	}
	return task, false, q.Explain(ctx, err, s)
}

// Active returns the tasks that asynq believes to be under way.
func (q *Queue) Active(ctx context.Context, s Search) (map[string]bool, error) {
	active := map[string]bool{}
	const page = 1000
	for n := 1; ; n++ {
		tasks, err := q.inspector.ListActiveTasks(QueueOf(s.Build), asynq.PageSize(page), asynq.Page(n))
		if errors.Is(err, asynq.ErrQueueNotFound) {
			return active, nil
		}
		if err != nil {
			return nil, q.Explain(ctx, err, s)
		}
		for _, t := range tasks {
			active[t.ID] = true
		}
		if len(tasks) < page {
			return active, nil
		}
	}
}

var lose = redis.NewScript(touch + `
	if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1] .. ':claim', ARGV[1]) == 1 then return 0 end
	if tonumber(redis.call('HGET', KEYS[1] .. ':next', ARGV[1]) or 0) ~= tonumber(ARGV[2]) then return 0 end
	touch()
	return redis.call('HINCRBY', KEYS[1] .. ':next', ARGV[1], 1)`)

// Lose gives up the task of a shard that nobody has claimed. The next one has a new id. It has no effect if somebody else has done so.
func (q *Queue) Lose(ctx context.Context, s Search, shard int, generation int64) error {
	return q.Explain(ctx, lose.Run(ctx, q.client, []string{key(s)}, shard, generation).Err(), s)
}

// bury is a function of the scripts. It ends the claim of a worker that is dead, and sets the shard aside if that happened too often.
const bury = `
	local function bury(shard, limit, reason)
		redis.call('HDEL', KEYS[1] .. ':claim', shard)
		if redis.call('HINCRBY', KEYS[1] .. ':deaths', shard, 1) >= tonumber(limit) then
			redis.call('HSET', KEYS[1] .. ':aside', shard, reason)
			return true
		end
	end
`

var reap = redis.NewScript(touch + bury + `
	if redis.call('HGET', KEYS[1] .. ':claim', ARGV[1]) ~= ARGV[2] or redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
	bury(ARGV[1], ARGV[3], ARGV[4])
	touch()
	return 1`)

// Reap ends the claim of an attempt whose worker is dead.
func (q *Queue) Reap(ctx context.Context, s Search, shard int, attempt string) error {
	err := reap.Run(ctx, q.client, []string{key(s), home + "worker:" + workerOf(attempt)}, shard, attempt, Deaths, killer()).Err()
	return q.Explain(ctx, err, s)
}

// Aside says why a shard is set aside.
type Aside struct {
	Why    string `json:"why"`
	Worker string `json:"worker,omitempty"` // the machine of the last attempt
	Output string `json:"output,omitempty"` // the end of what the last attempt printed
}

func (a Aside) text() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(fmt.Sprintf("queue: %v", err))
	}
	return string(text)
}

func killer() string {
	return Aside{Why: fmt.Sprintf("%d workers died", Deaths)}.text()
}

// Asides returns why shards are set aside.
func (q *Queue) Asides(ctx context.Context, s Search) (map[int]Aside, error) {
	texts, err := q.client.HGetAll(ctx, key(s)+":aside").Result()
	if err != nil {
		return nil, q.Explain(ctx, err, s)
	}
	all := map[int]Aside{}
	for n, text := range texts {
		var a Aside
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			a.Why = "set aside"
		}
		all[number(n)] = a
	}
	return all, nil
}

var retry = redis.NewScript(touch + `
	local all = redis.call('HKEYS', KEYS[1] .. ':aside')
	for _, part in ipairs({'aside', 'fails', 'deaths'}) do redis.call('DEL', KEYS[1] .. ':' .. part) end
	touch()
	return #all`)

// Retry gives all shards that are set aside their attempts back, and returns how many they are.
func (q *Queue) Retry(ctx context.Context, s Search) (int, error) {
	n, err := retry.Run(ctx, q.client, []string{key(s)}).Int()
	return n, q.Explain(ctx, err, s)
}
