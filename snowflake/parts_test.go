package snowflake

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The layout of a known issuer with a business number: 5 server bits, 5 business bits,
// 12 sequence bits, epoch 2019-05-05 +08:00.
func serverBusiness() Layout {
	return Layout{Epoch: 1556985600000, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 5, BusinessBits: 5, SequenceBits: 12}
}

// Ids that others have published with their times.
func TestKnownIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		layout             Layout
		id                 int64
		time               string
		precision          time.Duration // of the published time
		worker, biz, seqNo int64
	}{
		{"X's documentation", Twitter(), 1307025659294674945, "2020-09-18T18:36:15Z", time.Second, 327, 0, 1},
		{"X's documentation, older", Twitter(), 850006245121695744, "2017-04-06T15:24:15Z", time.Second, 378, 0, 0},
		{"Wikipedia's article", Twitter(), 1541815603606036480, "2022-06-28T16:07:40.105Z", time.Millisecond, 378, 0, 0},
		{"Discord's documentation", Discord(), 175928847299117063, "2016-04-30T11:18:25.796Z", time.Millisecond, 1 << 5, 0, 7},
		{"server and business", serverBusiness(), 1369734562062337, "2019-05-08T10:42:50.168Z", time.Millisecond, 1, 2, 1},
	} {
		p, err := c.layout.Decode(c.id)
		require.NoError(t, err, c.name)
		require.Equal(t, c.time, p.Time.Truncate(c.precision).Format(time.RFC3339Nano), c.name)
		require.Equal(t, []int64{c.worker, c.biz, c.seqNo}, []int64{p.Worker, p.Business, p.Sequence}, c.name)
		back, err := c.layout.Encode(p)
		require.NoError(t, err, c.name)
		require.Equal(t, c.id, back, c.name)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, id := range []int64{0, -1, math.MinInt64} {
		_, err := Layout{}.Decode(id)
		require.ErrorContains(t, err, "an id is greater than 0")
	}
	_, err := JSSafe().Decode(1 << 53)
	require.ErrorContains(t, err, "decode 9007199254740992")
	require.ErrorContains(t, err, "bits=41/6/0/6")
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	l := serverBusiness()
	ok := Parts{Time: l.TickTime(1)}
	for _, c := range []struct {
		name string
		edit func(*Parts)
		want string
	}{
		{"before the epoch", func(p *Parts) { p.Time = l.TickTime(0).Add(-1) }, "is not within the layout's 2019-05-04T16:00:00Z to 2089-"},
		{"no time", func(p *Parts) { p.Time = time.Time{} }, "time 0001-01-01T00:00:00Z is not within"},
		{"after the end", func(p *Parts) { p.Time = l.Ends() }, "is not within"},
		{"after the end of an int64 of milliseconds", func(p *Parts) { p.Time = time.Unix(math.MaxUint64/1000+l.Epoch/1000+1, 0) }, "is not within"},
		{"before the beginning of an int64 of milliseconds", func(p *Parts) { p.Time = time.Unix(-math.MaxUint64/1000+l.Epoch/1000+1, 0) }, "is not within"},
		{"worker high", func(p *Parts) { p.Worker = 32 }, "worker 32 is not 0 to 31"},
		{"worker negative", func(p *Parts) { p.Worker = -1 }, "worker -1 is not 0 to 31"},
		{"business high", func(p *Parts) { p.Business = 32 }, "business number 32 is not 0 to 31"},
		{"business negative", func(p *Parts) { p.Business = -1 }, "business number -1"},
		{"sequence high", func(p *Parts) { p.Sequence = 4096 }, "sequence 4096 is not 0 to 4095"},
		{"sequence negative", func(p *Parts) { p.Sequence = -1 }, "sequence -1"},
		{"all zero", func(p *Parts) { p.Time = l.TickTime(0) }, "0 is not an id"},
	} {
		p := ok
		c.edit(&p)
		id, err := l.Encode(p)
		require.ErrorContains(t, err, c.want, c.name)
		require.Zero(t, id, c.name)
	}
	_, err := Layout{}.Encode(Parts{Time: time.Now(), Business: 1})
	require.ErrorContains(t, err, "business number 1 is not 0 to 0")
}

// The methods of a layout that is not valid do not panic.
func TestLayoutThatIsNotValid(t *testing.T) {
	t.Parallel()
	for _, l := range []Layout{{TimeUnit: 500 * time.Microsecond}, {TimeUnit: -time.Millisecond}, {TimeUnit: 1}, {WorkerBits: 200, SequenceBits: 200, TimeBits: 200}} {
		require.Error(t, l.Validate())
		require.NotPanics(t, func() {
			l.Ends()
			l.Ticks(0, 1)
			l.TickTime(1)
			_ = l.CheckTime(time.Now())
			_ = l.String()
			_, _ = l.Decode(912338055136935936)
			_, _ = l.Encode(Parts{Time: time.Now()})
		})
	}
}

// In every valid layout, encoding the parts of an id returns that id.
func FuzzDecodeEncode(f *testing.F) {
	f.Add(int64(175928847299117063), int64(1420070400000), int64(1), uint8(41), uint8(10), uint8(0), uint8(12))
	f.Add(int64(1369734562062337), int64(1556985600000), int64(1), uint8(41), uint8(5), uint8(5), uint8(12))
	f.Add(int64(math.MaxInt64), int64(1), int64(3600000), uint8(0), uint8(1), uint8(0), uint8(1))
	f.Add(int64(1), int64(math.MaxInt64), int64(7), uint8(0), uint8(0), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, id, epoch, unit int64, timeBits, worker, business, sequence uint8) {
		l := Layout{
			Epoch: epoch, TimeUnit: time.Duration(unit%3600001) * time.Millisecond,
			TimeBits: timeBits, WorkerBits: worker, BusinessBits: business, SequenceBits: sequence,
		}
		if l.Validate() != nil {
			return
		}
		p, err := l.Decode(id)
		if err != nil {
			return
		}
		require.False(t, p.Time.After(l.Ends()))
		back, err := l.Encode(p)
		require.NoError(t, err)
		require.Equal(t, id, back)
	})
}
