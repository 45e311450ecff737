-- Deletes the lock only if it still holds our token: compare and delete must be one step, or another client's lock can be
-- deleted between them (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
