CREATE TABLE orders (
  id    BIGINT PRIMARY KEY,
  after BIGINT
);
