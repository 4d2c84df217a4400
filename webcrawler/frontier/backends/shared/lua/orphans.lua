-- What was leased by an answer that never arrived is free again. session, hosts it knows of.
local session, known = ARGV[1], {}
for i = 2, #ARGV do known[ARGV[i]] = true end
local freed = 0
for _, host in ipairs(call('SMEMBERS', T .. ':lease:' .. session)) do
  if not known[host] then
    local all, fingerprints = call('HGETALL', T .. ':hand:' .. session), {}
    for i = 1, #all, 2 do
      if cmsgpack.unpack(all[i + 1])[3] == host then fingerprints[#fingerprints + 1] = all[i] end
    end
    give_back(session, fingerprints)
    call('HDEL', host_key(host), 'le')
    call('SREM', T .. ':lease:' .. session, host)
    stand_all(host)
    freed = freed + 1
  end
end
return freed
