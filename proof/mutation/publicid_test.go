package mutation_test

const codecGo = "publicid/codec.go"

// onPublicIDs is what makes a text an id of its kind.
var onPublicIDs = list{title: "public ids", pkg: "publicid", mutants: []mutant{
	{"a mistyped text is read", codecGo, `case checkOf(id) != digits[idDigits]:`, `case false:`, "TestChangedTexts"},
	{"digits count the same in all places", "publicid/digits.go", `sum<<1 ^ sum>>4*0b100101`, `sum`, "TestChangedTexts"},
	{"digits count the same in places five apart", "publicid/digits.go", `0b100101`, `0b100001`, "TestChangedTexts"},
	{"the zero bytes are not compared", codecGo, `binary.BigEndian.Uint64(block) == 0 && id > 0`, `id > 0`, "TestRandomTexts"},
	{"four of the zero bytes are compared", codecGo, `binary.BigEndian.Uint64(block) == 0 && id > 0`, `binary.BigEndian.Uint32(block) == 0 && id > 0`, "TestVectors"},
	{"a sealed number above 2^63-1 is read", codecGo, `binary.BigEndian.Uint64(block) == 0 && id > 0`, `binary.BigEndian.Uint64(block) == 0`, "TestVectors"},
	{"a block has what stood in the buffer", codecGo, `clear(block[:8])`, ``, "TestCodec"},
	{"all prefixes have one key", codecGo, `"snowlease publicid v1 "+prefix`, `"snowlease publicid v1 "`, "TestAnotherPrefixOrSecret"},
	{"the last secret seals", codecGo, `if i == 0 {`, `if true {`, "TestRotation"},
	{"older secrets open nothing", codecGo, `range c.open {`, `range c.open[:1] {`, "TestRotation"},
	{"a short secret", codecGo, `case len(secret) < minSecret:`, `case len(secret) == 0:`, "TestConstructorsRefuse"},
	{"a secret that can be guessed", codecGo, `case different < minDifferent:`, `case different < 0:`, "TestConstructorsRefuse"},
	{"a secret that is the name of a variable", codecGo, `case text && bytes.Contains(`, `case false && bytes.Contains(`, "TestConstructorsRefuse"},
	{"an id has a second text", codecGo, `case i == 0 && v > 7:`, `case i < 0:`, "TestVectors"},
	{"the text of zero is read", codecGo, `case id == 0:`, `case false:`, "TestDecodeRefuses"},
	{"zero has a text", codecGo, `if id <= 0 {`, `if id < 0 {`, "TestEncodeRefuses"},
	{"the zero ID is a number in JSON", "publicid/id.go", `[]byte("null")`, `[]byte("0")`, "TestIDJSON"},
	{"a negative column is an id", "snowflake/id.go", `if v < 0 {`, `if false {`, "TestIDScanAndValue"},
}}
