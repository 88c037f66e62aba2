-- A state that is there is what `else` goes on with.
if not state then
  if redis.call('EXISTS', key) == 1 then
    return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
  end
elseif state.err then
  if not state.err:find('^WRONGTYPE') then
    return state
  end
  return {'STATE_INCOMPATIBLE', now, now, 0, 0, 0, 0}
