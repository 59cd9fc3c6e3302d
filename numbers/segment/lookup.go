package segment

import "github.com/snowlease/snowlease/snowflake"

// A Lookup returns the source of a name's numbers, such as an *Issuer.
type Lookup func(name string) (snowflake.Source, error)
