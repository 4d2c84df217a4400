-- A host's row changes as a whole. host, row, next time, session or "" for a host at rest.
if call('SISMEMBER', T .. ':hosts', ARGV[1]) == 0 then return 0 end
local owner = call('HGET', host_key(ARGV[1]), 'le')
if ARGV[4] ~= '' and owner ~= ARGV[4] then return 0 end
call('HSET', host_key(ARGV[1]), 'row', ARGV[2], 'at', ARGV[3])
return 1
