-- The last argument is the database of the client, or '' if it has one only. The application may
-- have left another one on this connection. The choice ends with the script.
local database = ARGV[#ARGV]
if database and database ~= '' then redis.call('SELECT', database) end
