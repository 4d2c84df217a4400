-- A frozen host keeps its URLs and hands out none. host, reasons to set, reasons to clear.
local key = host_key(ARGV[1])
local before = tonumber(call('HGET', key, 'fl') or 0)
local after = bit.band(bit.bor(before, tonumber(ARGV[2])), bit.bnot(tonumber(ARGV[3])))
if after == 0 then call('HDEL', key, 'fl') else call('HSET', key, 'fl', after) end
if before == 0 and after ~= 0 then count('frozen', stored(ARGV[1])) end
if before ~= 0 and after == 0 then count('frozen', -stored(ARGV[1])) end
stand_all(ARGV[1])
return after
