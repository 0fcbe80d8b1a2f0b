#!lua flags=allow-oom
-- narrow: stores the partitions in which a campaign has slices, and the rules of its segments, before the expansion of
-- its first slice.
-- Invariant: partitions and rules are stored once, before `dequeue` returns the first slice. All legs that are expanded
-- together get them in one step, so these legs have slices in the same partitions. Users who join the audience before
-- this step are included. If a slice of a leg is already finished, Redis has lost an earlier call of this script. The
-- leg then keeps all its slices.
-- KEYS 1 campaign or leg, 2 open slices, 3 finished slices; then the same three keys for each other leg that is
--      expanded with it
-- ARGV 1 bitmap of the partitions without a slice ('' for none: then all partitions keep their slices)
--      2 rules of the segments on which the audience depends ('' for none)
--      3 number of legs
--      then for each leg the command that adds its slices: 'RPUSH', or 'LPUSH' for the reverse order (see `activate`)
--      then the partitions with a slice
-- Returns the rules in force ('' for none), or false if there is no such campaign
local campaign = redis.call('HMGET', KEYS[1], 'state', 'narrowed', 'definitions')
if not campaign[1] then return false end
if campaign[2] then return campaign[3] or '' end
local first = 4 + ARGV[3]
for leg = 1, tonumber(ARGV[3]) do
  local base = 3 * leg - 2
  local part = redis.call('HMGET', KEYS[base], 'state', 'narrowed')
  if part[1] and not part[2] then
    if ARGV[1] ~= '' and redis.call('EXISTS', KEYS[base + 2]) == 0 then
      redis.call('DEL', KEYS[base + 1])
      for i = first, #ARGV, 500 do
        redis.call(ARGV[3 + leg], KEYS[base + 1], unpack(ARGV, i, math.min(i + 499, #ARGV)))
      end
      redis.call('SET', KEYS[base + 2], ARGV[1])
      redis.call('HSET', KEYS[base], 'slices', #ARGV - first + 1, 'absent', ARGV[1])
    end
    redis.call('HSET', KEYS[base], 'narrowed', 1)
    if ARGV[2] ~= '' then redis.call('HSET', KEYS[base], 'definitions', ARGV[2]) end
  end
end
return ARGV[2]
