// Package ordernumber makes numbers for people out of any int64 ids: the date, the
// number and a shard gene, in digits of a fixed width.
//
//	20261121 00001234 57
//	yyyyMMdd  number  gene of the user
//
//	codec, err := ordernumber.New(ordernumber.Config{Zone: "Asia/Shanghai"})
//	s, err := codec.Format(time.Now(), number, userID)
//
// The number is what makes it unique: one of package segment, which is short, or a
// snowflake id with Digits 19. Numbers of a fixed width sort as strings by date and
// number, and fit a CHAR or VARCHAR key as they are: a string field of a GORM model
// (see the example).
//
// The gene is the user's id modulo Config.Shards, so that a shard is found by either: the
// orders of a user lie in the shard of the user's gene, and an order number tells the
// shard without a look-up.
//
// Use the plain id instead where nobody reads it: it takes 8 bytes.
package ordernumber
