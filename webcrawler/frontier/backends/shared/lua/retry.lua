-- A URL in hand waits again behind the others, with its changed counts. session, fingerprint,
-- queue, record, number of the lease by which it came in hand: what is said again and arrives late
-- does not take it from a later one.
local entry = is_live(ARGV[1]) and let_go(ARGV[1], ARGV[2], tonumber(ARGV[5]))
if not entry then return 0 end
call('RPUSH', queue_key(ARGV[3], entry[3]), ARGV[4])
stand_all(entry[3])
return 1
