-- A host is leased to one worker at a time. session, now, horizon, hosts wanted, URLs of each to
-- take in hand, front queues in their order.
local session, now, horizon = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local wanted, batch = tonumber(ARGV[4]), tonumber(ARGV[5])
local found = {}
if not is_live(session) then return found end
for i = 6, #ARGV do
  local k = ARGV[i]
  while #found < wanted do
    local host = call('LPOP', T .. ':f:' .. k)
    if not host then break end
    local key = host_key(host)
    call('HDEL', key, 'f' .. k)
    local s = call('HMGET', key, 'le', 'hd', 'fl', 'at')
    if not s[1] and not s[2] and not s[3] and call('LLEN', queue_key(k, host)) > 0 then
      if tonumber(s[4] or 0) > now + horizon then
        hold(host, s[4])
      else
        call('HSET', key, 'le', session)
        call('SADD', T .. ':lease:' .. session, host)
        local told = about(host)
        told[8] = take(session, host, k, batch)
        told[9] = tonumber(k)
        found[#found + 1] = told
      end
    end
  end
end
return found
