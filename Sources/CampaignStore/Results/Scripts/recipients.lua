-- Functions shared by the scripts that find the targets of a user in a slice. The loader puts `outcome.lua` and then
-- this file in front of these scripts.
-- The string `recipients` of a slice is an index of its targets by user. It has: u8 length and text of the slice's seal
-- (the id of the claim that sealed the targets), then an entry of 10 bytes for each target with a user, sorted: u48
-- hash of the user, u32 index of the target. Swift code builds the index (`RecipientIndex`) when it is first needed.

-- Returns the place of the first entry and the number of entries; nil if the index is missing or has another seal.
local function recipient_entries(recipients, seal)
  local head = string.char(#seal) .. seal
  if redis.call('GETRANGE', recipients, 0, #head - 1) ~= head then return nil end
  return #head, math.floor((redis.call('STRLEN', recipients) - #head) / 10)
end

-- Returns the indexes of the targets of a user, by the hash of the user.
local function targets_of(recipients, from, count, hash)
  local low, high = 0, count
  -- The first entry that is not below the hash is between `low` and `high`.
  while high - low > 32 do
    local middle = math.floor((low + high) / 2)
    local place = from + middle * 10
    if struct.unpack('>I6', redis.call('GETRANGE', recipients, place, place + 5)) < hash then
      low = middle + 1
    else
      high = middle
    end
  end
  local found = {}
  while low < count do
    local last = math.min(low + 40, count)
    local block = redis.call('GETRANGE', recipients, from + low * 10, from + last * 10 - 1)
    for at = 1, #block, 10 do
      local its_hash, index = struct.unpack('>I6I4', block, at)
      if its_hash > hash then return found end
      if its_hash == hash then found[#found + 1] = index end
    end
    low = last
  end
  return found
end

-- Returns whether the push of a target may have been delivered: its outcome is accepted or unknown, or would be unknown
-- if the campaign were cancelled now.
local function may_be_delivered(ledger, index, granted)
  local record = redis.call('GETRANGE', ledger, index * 12, index * 12 + 5)
  local outcome = outcome_of(record:byte() or 0, record:byte(6) or 0, index < granted, 'cancelled')
  return outcome == 16 or outcome == 24
end

-- Returns whether a push of the slice may have been delivered to a user.
local function may_have_reached(recipients, ledger, from, count, granted, hash)
  local targets = targets_of(recipients, from, count, hash)
  for i = 1, #targets do
    if may_be_delivered(ledger, targets[i], granted) then return true end
  end
  return false
end
