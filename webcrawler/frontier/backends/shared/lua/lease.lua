-- A host is leased to one worker at a time. session, number of this step, now, horizon, hosts
-- wanted, URLs of each to take in hand (a host may want more), front queues in their order.
local session, now, horizon = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local wanted, batch = tonumber(ARGV[5]), tonumber(ARGV[6])
local found = {}
if not is_live(session) then return found end
for i = 7, #ARGV do
  local k = ARGV[i]
  while #found < wanted do
    local host = call('LPOP', T .. ':f:' .. k)
    if not host then break end
    local key = host_key(host)
    call('HDEL', key, 'f' .. k)
    local s = call('HMGET', key, 'le', 'hd', 'fl', 'at', 'b')
    if not s[1] and not s[2] and not s[3] and call('LLEN', queue_key(k, host)) > 0 then
      if tonumber(s[4] or 0) > now + horizon then
        hold(host, s[4])
      else
        call('HSET', key, 'le', session)
        call('HSET', T .. ':lease:' .. session, host, ARGV[2])
        local told = about(host)
        told[8] = take(session, host, k, batch > 0 and math.max(batch, tonumber(s[5] or 0)) or 0)
        told[9] = tonumber(k)
        found[#found + 1] = told
      end
    end
  end
end
return found
