-- What every package asks of a server, in the format of dbseq/sql/lease.sql.

-- name: clock
SELECT {now};

-- name: incarnation
SELECT {incarnation};
