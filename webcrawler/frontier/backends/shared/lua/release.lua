-- Only the holder of a lease ends it: its clock and its unused URLs return with the host.
-- session, host, row, next time, "hold" or "", then fingerprints of the URLs given back.
local session, host = ARGV[1], ARGV[2]
if call('HGET', host_key(host), 'le') ~= session then return 0 end
local fingerprints = {}
for i = 6, #ARGV do fingerprints[#fingerprints + 1] = ARGV[i] end
give_back(session, fingerprints)
call('HDEL', host_key(host), 'le')
call('SREM', T .. ':lease:' .. session, host)
call('HSET', host_key(host), 'row', ARGV[3], 'at', ARGV[4])
if ARGV[5] == 'hold' and call('HEXISTS', host_key(host), 'fl') == 0 then
  for _, size in ipairs(unread(host)) do
    if size > 0 then
      hold(host, ARGV[4])
      return 1
    end
  end
end
stand_all(host)
return 1
