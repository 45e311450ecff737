-- Sets the TTL of the lock anew only if it still holds our token: a lock that is another's, or nobody's, is not ours to
-- extend (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
