-- Adds a slice to a campaign that began without a slice in this partition. The campaign's field `absent` is a bitmap of
-- such partitions. The function clears the partition's bit and raises the campaign's number of slices by 1. Returns
-- false without a change if the bit is not set.
local function add_slice(campaign, partition)
  local absent = redis.call('HGET', campaign, 'absent')
  local place, bit = math.floor(partition / 8) + 1, 2 ^ (7 - partition % 8)
  local byte = absent and absent:byte(place) or 0
  if math.floor(byte / bit) % 2 == 0 then return false end
  redis.call('HSET', campaign, 'absent', absent:sub(1, place - 1) .. string.char(byte - bit) .. absent:sub(place + 1))
  redis.call('HINCRBY', campaign, 'slices', 1)
  return true
end

