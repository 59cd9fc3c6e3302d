// Package publicid writes ids for people and other programs: ord_0saa6m2dr40006 instead of
// 912338055136935936. The id stays an int64 in Go and a BIGINT in the database. Outside,
// it is a text that names its kind, that JavaScript does not round, and that is opaque if
// it is sealed with a secret.
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
// An ID is encoded wherever it is written as text, and decoded where it is read: in JSON,
// flags, logs, templates and path parameters. A Codec does the same for a plain int64.
//
// # Plain and sealed
//
//	                    plain: New               sealed: NewSealed
//	after the prefix    14 characters            26 characters
//	sorts like the id   yes                      no
//	shows               time, worker, sequence   that two texts are equal
//	a mistyped text     is refused if one        is refused
//	                    character is wrong or
//	                    two are swapped
//	a guessed text      is an id                 is an id with probability 2^-65
//	                                             for each secret
//
// Choose before the first text is published: neither kind reads the other.
//
// A plain text consists of the prefix, "_", 13 digits in base 32 and a check character. A
// sealed text has 26 digits, which are one block of AES-256: 8 zero bytes and the id
// (encode-then-encipher: Bellare and Rogaway, 2000). Each prefix has a key of its own, by
// HKDF-SHA256 from the secret, so a text with another prefix does not open. The page
// docs/design/publicid.md has the format for other languages.
//
// # What sealing does not do
//
//   - A text is no permission. Whoever sees one can send it. Check each request against
//     its user.
//   - It is deterministic: the same id always has the same text, so texts can be compared
//     and counted.
//   - Whoever has the secret reads all texts, old ones too, and can make valid ones.
//   - The text changes with the first secret. Store ids, not texts.
//   - Without its secret, a text cannot be read again. The rows are not affected.
//   - It hides the number, not what else shows the order of rows, such as created_at or the
//     order of a list.
//   - An ID is a number in memory: %#v and %d print it, and encoders that ask for none of its
//     methods write it, such as BSON. Package gob writes the text.
//   - On a processor without instructions for AES, the time that AES takes depends on the
//     key and the id.
package publicid
