package sqlconn

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables of the packages that use this one.
var (
	ofDbseq    = Tables{Files: os.DirFS("../../dbseq"), Names: []string{"slot", "ticket", "meta"}}
	ofSegments = Tables{Files: os.DirFS("../../internal/sqlnumbers"), Names: []string{"segment"}}
)

// TestDialects: each dialect has what calls need of it, which they would otherwise notice at
// run time.
func TestDialects(t *testing.T) {
	t.Parallel()
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, name, d.name)
			for what, has := range map[string]bool{
				"clock": d.clock != "", "quote": d.quote != "", "numbers": d.numbers != "", "write": d.write != nil, "session": d.session != nil,
				"incarnation or variant": (d.incarnation != "") != (d.variant != nil),
				"place":                  d.place != nil,
				"examine":                d.examine != nil,
				"crashSafe":              d.file || d.crashSafe != "",
				"transient":              len(d.transient) > 0,
				"readOnly":               len(d.readOnly) > 0,
				"noTable":                len(d.noTable) > 0,
				"usedUp":                 len(d.usedUp) > 0,
			} {
				require.True(t, has, what)
			}
			needed := []string{"home", "table", "settings", "maycreate"}
			if !d.file {
				needed = append(needed, "replicas", "engine", "cipher", "client")
			}
			for _, tables := range []Tables{ofDbseq, ofSegments} {
				names := slices.Clone(needed)
				for _, name := range tables.Names {
					names = append(names, "create "+name)
				}
				for _, incarnation := range []string{"", "'x'"} {
					q := d.filled(d.parts(tables), "home.pre_", d.clock, incarnation)
					for _, name := range names {
						require.NotEmpty(t, q[name].text, "no statement is called %s", name)
					}
					for name, s := range q {
						require.NotEmpty(t, s.text, name)
						require.Equal(t, strings.Count(s.text, "pre_"), strings.Count(s.text, "home.pre_"), "%s would run where a connection was moved to", name)
						for _, left := range []string{"snowlease_", "{", "--", ";"} {
							require.NotContains(t, s.text, left, name)
						}
					}
				}
			}
		})
	}
}
