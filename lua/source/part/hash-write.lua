redis.call('HSET', key, 's', state)
if expiry then
  redis.call('PEXPIRE', key, expiry)
end
