#!lua
-- submit: puts a job on the producers' list unless its id is taken. If the job is from the dead list, the script
-- removes the job from there.
-- Invariant: an id names one job for 90 days, and submitting the same job again changes nothing. A job from the dead
-- list is always on one of the two lists, so the script pushes the job before it writes anything else. A job that was
-- submitted and not taken in is normally among the next 10,000 jobs of the list. If it is not there, it may be lost,
-- and the script pushes it again. Workers take in a repeated job only once.
-- Only this script records who submits a job; a name in a raw job is ignored. The digest binds the recorded name to
-- exactly this job.
-- A job may have become invalid since it was written, for example because its send time has passed. The script refuses
-- such a job unless its id is known.
-- Earlier versions computed the digest from a canonical form that keeps default values. Such a digest stays valid.
-- KEYS 1 job: a digest, and ' activated' after the activation, 2 campaign, 3 producers' list, then the dead list, if
--      the job is from there, then the submitter, if known
-- ARGV 1 job as written, 2 its canonical form, 3 seconds an id is remembered, 4 its key in the dead list ('' for none),
--      5 submitter ('' if unknown), 6 canonical form of earlier versions ('' if it is the same), 7 '1' to refuse the
--      job unless it is known
-- Returns 'new' | 'duplicate' | 'conflict' | 'refused' | 'gone' (no longer in the dead list)
local comes_back = ARGV[4] ~= ''
if comes_back and #redis.call('XRANGE', KEYS[4], ARGV[4], ARGV[4]) == 0 then return 'gone' end
local digest = redis.sha1hex(ARGV[2])
local known = redis.call('GET', KEYS[1])
if known and ARGV[6] ~= '' and known:sub(1, 40) == redis.sha1hex(ARGV[6]) then digest = known:sub(1, 40) end
if known and known:sub(1, 40) ~= digest then return 'conflict' end
if ARGV[7] == '1' and not known then return 'refused' end
local is_taken_in = known and #known > 40 or redis.call('HLEN', KEYS[2]) > 0
if not is_taken_in then
  if not known or not redis.call('LPOS', KEYS[3], ARGV[1], 'RANK', -1, 'MAXLEN', 10000) then
    redis.call('LPUSH', KEYS[3], ARGV[1])
  end
  redis.call('SET', KEYS[1], digest, 'EX', ARGV[3])
  if not known and ARGV[5] ~= '' then redis.call('SET', KEYS[#KEYS], digest .. ' ' .. ARGV[5], 'EX', ARGV[3]) end
end
if comes_back then redis.call('XDEL', KEYS[4], ARGV[4]) end
return (known or is_taken_in) and 'duplicate' or 'new'
