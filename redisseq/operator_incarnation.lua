-- Returns the incarnation of the server.
local id = server()
return id and { 'OK', id } or { 'NORUNID' }
