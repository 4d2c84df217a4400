-- A URL in hand waits again behind the others, with its changed counts. session, fingerprint,
-- queue, record.
local entry = is_live(ARGV[1]) and let_go(ARGV[1], ARGV[2])
if not entry then return 0 end
call('RPUSH', queue_key(ARGV[3], entry[3]), ARGV[4])
stand_all(entry[3])
return 1
