-- Takes the lock and draws a fencing token from a counter, in one step, so that tokens grow in the order of the grants.
-- The counter has no TTL: it must never go back.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('INCR', KEYS[2])
end
return 0
