redis.call('ZREMRANGEBYSCORE', key, '(0', opened)
redis.call('ZADD', key, 0, id, effective, state)
redis.call('PEXPIRE', key, expiry)
