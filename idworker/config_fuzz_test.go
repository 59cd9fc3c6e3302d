package idworker

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// FuzzConfig checks that a configuration from text either is refused or yields a valid
// request and layout.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{}`,
		`{"namespace":"orders"}`,
		`{"namespace":"orders","preset":"JSSafe","workers":"0-15"}`,
		`{"namespace":"orders","preset":"none"}`,
		`{"namespace":"orders","preset":"wide","layout":{"worker_bits":5}}`,
		`{"namespace":"orders","layout":{"epoch":1577808000000,"time_unit":10000000,"time_bits":39,"worker_bits":8,"business_bits":4,"sequence_bits":12},"business":15}`,
		`{"namespace":"orders","layout":{"worker_bits":255,"sequence_bits":255}}`,
		`{"namespace":"orders","layout":{"epoch":-1,"time_unit":-1}}`,
		`{"namespace":"orders","lease":{"ttl":100000000,"max_ttl":86400000000000,"renew":"*/5 * * * * *"},"store":{"skew":0,"exact_times":true},"wait":1,"max_ahead":2000000}`,
		`{"mode":"local","local":{"worker":31},"preset":"yitter"}`,
		`{"mode":"local","lease":{"ttl":100000000}}`,
		`{"mode":"redis-sequence","namespace":"orders","sequence":{"worker":31,"prefetch":1,"max_age":10000000},"store":{"skew":3600000000000}}`,
		`{"mode":"redis-sequence","namespace":"orders","lease":{"ttl":1},"local":{"sources":["lock"]},"segments":[{"name":"a"},{}]}`,
		`{"namespace":"a b","mode":"db","store":{"wait_replicas":-1,"skew":9223372036854775807},"lease":{"ttl":-1,"renew":"@never"}}`,
		`{"namespace":"orders","lease":{"renew":"TZ=Nowhere * * * * *"}}`,
		`{"namespace":"orders","lease":{"renew":"TZ=UTC"}}`,
		`{"namespace":"orders","lease":{"renew":"CRON_TZ="}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c Config
		if json.Unmarshal([]byte(s), &c) != nil {
			return
		}
		p, err := c.plan()
		if err != nil {
			for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
				var e *fault.Fault
				require.ErrorAs(t, one, &e)
				require.NotEmpty(t, e.Key)
			}
			return
		}
		last := p.core.Workers.First + p.core.Workers.Count - 1
		if p.Mode != ModeRedisSequence { // which borrows nothing
			request, err := p.core.Request()
			require.NoError(t, err)
			require.NoError(t, request.Validate())
			require.NotNil(t, p.schedule)
			require.Equal(t, p.layout.String(), request.Layout)
			require.Equal(t, last, request.Last)
		}
		require.NoError(t, p.Validate(), "defaults are valid")
		g, err := generator.New(p.layout)
		require.NoError(t, err)
		_, err = g.For(p.Business)
		require.NoError(t, err)
		id, err := p.layout.Encode(snowflake.Parts{Time: p.layout.TickTime(1), Worker: last, Business: p.Business})
		require.NoError(t, err)
		parts, err := p.layout.Decode(id)
		require.NoError(t, err)
		require.Equal(t, []int64{last, p.Business}, []int64{parts.Worker, parts.Business})
	})
}
