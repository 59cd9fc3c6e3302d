// Package publicid translates ids to public ids for people and other programs, such as
// ord_0saa6m2dr40006 for 912338055136935936. The id stays an int64 in Go and a BIGINT in the
// database. The public id is a string that names its kind and that JavaScript does not round.
// It is opaque if it is sealed with a secret.
//
//	var orderIDs = publicid.Must(publicid.NewSealed("ord", []byte(os.Getenv("ID_SECRET"))))
//
//	type Order struct {
//		ID    publicid.ID[Order] `json:"id"` // "ord_3z5h8216y10geyvz9xdn5qawmb"
//		Total int64              `json:"total"`
//	}
//
//	func (Order) Codec() *publicid.Codec { return orderIDs }
//
// An ID is encoded wherever it is written as text, and decoded wherever it is read: in JSON,
// flags, logs, templates and path parameters. A Codec does the same for a plain int64.
//
// # Plain and sealed
//
//	                    plain: New               sealed: NewSealed
//	after the prefix    14 characters            26 characters
//	sorts like the id   yes                      no
//	reveals             time, worker, sequence   whether two are equal
//	a mistyped one      is refused if one        is refused
//	                    character is wrong or
//	                    two are swapped
//	a guessed one       is an id                 is an id with probability 2^-65
//	                                             for each secret
//
// Choose before you publish the first one: a plain Codec does not read sealed public ids, nor a
// sealed Codec plain ones.
//
// A plain public id consists of the prefix, "_", 13 digits in base 32 and a check character. A
// sealed one has 26 digits, which are one block of AES-256: 8 zero bytes and the id
// (encode-then-encipher: Bellare and Rogaway, 2000). HKDF-SHA256 derives a key for each prefix
// from the secret, so a public id does not open under another prefix. The page
// docs/design/publicid.md describes the format for other languages.
//
// # What sealing does not do
//
//   - A public id is not a credential: everyone who sees it can send it. Check the permission
//     of each request's user.
//   - Sealing is deterministic: the same id always has the same public id, so public ids can be
//     compared and counted.
//   - Everyone who has the secret can decode all public ids, including old ones, and can make
//     valid ones.
//   - Public ids change with the first secret. Store ids, not public ids.
//   - Without its secret, a public id cannot be decoded again. The rows are not affected.
//   - Sealing hides the number. It does not hide other signs of the order of rows, such as
//     created_at or the order of a list.
//   - An ID is a number in memory: %#v and %d print the number, and so do encoders that call
//     none of its methods, such as BSON. Package gob writes the public id.
//   - On a processor without AES instructions, the time that AES takes depends on the key and
//     the id.
package publicid
