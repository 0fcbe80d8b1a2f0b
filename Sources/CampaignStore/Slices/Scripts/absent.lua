-- Adds a slice to a campaign that had no slice in this partition when it began. Returns true if the slice was added.
local function add_slice(campaign, partition)
  local absent = redis.call('HGET', campaign, 'absent')
  local place, bit = math.floor(partition / 8) + 1, 2 ^ (7 - partition % 8)
  local byte = absent and absent:byte(place) or 0
  if math.floor(byte / bit) % 2 == 0 then return false end
  redis.call('HSET', campaign, 'absent', absent:sub(1, place - 1) .. string.char(byte - bit) .. absent:sub(place + 1))
  redis.call('HINCRBY', campaign, 'slices', 1)
  return true
end

