
-- Returns whether a slice's phase and numbers (targets, granted, in doubt, waiting) are possible. Carillon writes only
-- possible values. For other values, the calling script answers with the error DAMAGED, and the worker inspects the
-- slice. A value that is not a number fails every comparison. The largest count is that of a ledger of 512 MiB, the
-- limit of a string in Redis.
local function is_sound(phase, count, granted, doubt, waiting)
  return (not phase or phase == 'expanding' or phase == 'sealed' or phase == 'done' or phase == 'cancelled')
    and count >= 0 and count <= 44739242 and granted >= 0 and granted <= count and doubt >= 0 and doubt <= count
    and waiting >= 0 and waiting <= count
    and count % 1 == 0 and granted % 1 == 0 and doubt % 1 == 0 and waiting % 1 == 0
end
local function damaged() return redis.error_reply('DAMAGED a value of ' .. KEYS[1] .. ' can not be right') end
