-- name: CreateOrder :exec
INSERT INTO orders (id, after) VALUES (?, ?);

-- name: Order :one
SELECT * FROM orders WHERE id = ?;

-- name: Orders :many
SELECT * FROM orders WHERE id IN (sqlc.slice('ids')) ORDER BY id;
