-- Extends the lock, and takes it where it is lost. This is wrong: it may be lost to another client, and where it is free,
-- another may hold it on the other nodes.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return 1
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
