// Package ordernumber formats int64 ids as order numbers for people. An order number
// consists of a date, the id and a shard gene, in digits of a fixed width.
//
//	20261121 00001234 57
//	yyyyMMdd  number  gene of the user
//
// The number makes an order number unique: use a short number from package numbers, or a
// snowflake id with Digits 19. Order numbers of a fixed width sort as strings by date and
// number. They fit a CHAR or VARCHAR key, such as a string field of a GORM model (see the
// example).
//
// The gene is the user id modulo Config.Shards. It identifies the shard from either side: the
// orders of a user are in the shard of the user's gene, and an order number contains its shard,
// without a lookup.
//
// If people do not read the number, use the plain id, which takes 8 bytes.
package ordernumber
