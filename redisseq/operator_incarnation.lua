-- Names the server that answers.
local id = server()
return id and { 'OK', id } or { 'NORUNID' }
