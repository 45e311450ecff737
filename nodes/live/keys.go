package live

import (
	"slices"

	"github.com/redis/go-redis/v9"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
)

// readKey is a Lua function that reads the value of a key. It changes nothing.
const readKey = `
	local function read(kind, key)
		if kind == 'string' then return redis.call('GET', key)
		elseif kind == 'hash' then return redis.call('HGETALL', key)
		elseif kind == 'list' then return redis.call('LRANGE', key, 0, -1)
		elseif kind == 'set' then return redis.call('SMEMBERS', key)
		elseif kind == 'zset' then return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
		end
		return {}
	end
`

// readEntry makes an entry from the type of a key, what readKey returned, and its deadline, or -1.
func readEntry(name string, read []any) engine.Entry {
	e := engine.Entry{Deadline: max(0, read[2].(int64))}
	if value, ok := read[1].(string); ok {
		e.Value, e.Text = value, true
		return e
	}
	var parts []string
	for _, p := range read[1].([]any) {
		parts = append(parts, p.(string))
	}
	e.Value = engine.Collection(append([]string{makers[read[0].(string)], name}, ordered(read[0].(string), parts)...)).Value
	return e
}

// makers are the commands that make keys, by type.
var makers = map[string]string{"hash": "HSET", "list": "RPUSH", "set": "SADD", "zset": "ZADD", "stream": "XADD"}

// ordered sorts elements that a server returns in any order as [engine.Redis.Snapshot] does.
func ordered(kind string, parts []string) []string {
	switch kind {
	case "set":
		slices.Sort(parts)
	case "hash":
		var pairs [][]string
		for pair := range slices.Chunk(parts, 2) {
			pairs = append(pairs, pair)
		}
		slices.SortFunc(pairs, slices.Compare)
		return slices.Concat(pairs...)
	case "zset":
		for pair := range slices.Chunk(parts, 2) {
			pair[0], pair[1] = pair[1], pair[0]
		}
	}
	return parts
}

// snapshot returns whether the server can write to its disk, its time in milliseconds, and its keys. Time stands still in a
// script.
var snapshot = redis.NewScript(readKey + `
	local disk = redis.call('INFO', 'persistence')
	local full = string.find(disk, 'aof_last_write_status:err', 1, true) or string.find(disk, 'rdb_last_bgsave_status:err', 1, true)
	local time = redis.call('TIME')
	local all = {full and 1 or 0, time[1] * 1000 + math.floor(time[2] / 1000)}
	for _, key in ipairs(redis.call('KEYS', '*')) do
		local kind = redis.call('TYPE', key).ok
		table.insert(all, key)
		table.insert(all, kind)
		table.insert(all, read(kind, key))
		table.insert(all, redis.call('PEXPIRETIME', key))
	end
	return all`)

// readKeys returns the keys of a server that have not expired, and its time in milliseconds since 1970.
func readKeys(s *redisserver.Server) (at int64, keys map[string]engine.Entry, err error) {
	all, err := s.Run(snapshot).Slice()
	if err != nil {
		return 0, nil, err
	}
	if all[0].(int64) != 0 {
		return 0, nil, s.LastWarning(redisserver.ErrDisk)
	}
	keys = map[string]engine.Entry{}
	at, all = all[1].(int64), all[2:]
	for ; len(all) > 0; all = all[4:] {
		name := all[0].(string)
		keys[name] = readEntry(name, all[1:4])
	}
	return at, keys, nil
}
