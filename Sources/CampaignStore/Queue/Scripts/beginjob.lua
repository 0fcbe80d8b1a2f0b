#!lua flags=allow-oom
-- beginjob: records that a worker begins to take in a job on its intake list.
-- Invariant: each worker process is recorded once for a job, before it reads the job. If the process dies, its record
-- stays, so the next worker knows the number of attempts. When the hash has ARGV 4 or more fields, the script removes
-- attempts that are older than ARGV 3.
-- KEYS 1 intake list of the worker, 2 attempts
-- ARGV 1 the job's entry as it is on the list, 2 instance of the worker, 3 ms for which attempts are kept, 4 number of
--      fields from which old attempts are removed
-- The name of a field is the SHA-1 of the entry. Its value is 'at-ms instance instance ...': the time of the last
-- attempt, then the instances of the workers. The field 'SHA-1:failures' counts failures.
-- Returns false if the entry is not on the list, or {SHA-1 of the entry, number of other processes that began to take
-- in the job, number of failures, time of this call in ms since the epoch}
if not redis.call('LPOS', KEYS[1], ARGV[1]) then return false end
local name, time = redis.sha1hex(ARGV[1]), redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[4]) then
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local at = tonumber(all[i + 1]:match('^%d+ ') or nil)
    local is_old = not at or at < now - ARGV[3]
    if #all[i] == 40 and is_old then redis.call('HDEL', KEYS[2], all[i], all[i] .. ':failures') end
  end
end
local others, nonces = 0, ''
for nonce in (redis.call('HGET', KEYS[2], name) or ''):gmatch(' (%x+)') do
  if nonce ~= ARGV[2] then
    others = others + 1
    nonces = nonces .. ' ' .. nonce
  end
end
redis.call('HSET', KEYS[2], name, now .. nonces .. ' ' .. ARGV[2])
return {name, others, tonumber(redis.call('HGET', KEYS[2], name .. ':failures') or 0) or 0, now}
