package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// decoder is the answer of api/decode, and the data of the page's decoder.
type decoder struct {
	ID     string    `json:"id"` // a string, since JavaScript rounds large numbers
	Layout string    `json:"layout"`
	Time   time.Time `json:"time"`
	Hex    string    `json:"hex"`
	JSSafe bool      `json:"js_safe"` // at most 2^53 - 1
	Fields []field   `json:"fields"`

	Input   string `json:"-"`
	Err     error  `json:"-"`
	Example bool   `json:"-"` // the request has no id
}

// field is a field of an id. They are listed from the top bit down.
type field struct {
	Name    string `json:"name"`
	High    int    `json:"high"` // its bits, 63 to 0
	Low     int    `json:"low"`
	Bits    string `json:"bits"`
	Value   int64  `json:"value"`
	Meaning string `json:"meaning"`
}

// Digits returns the bits one by one.
func (f field) Digits() []string { return strings.Split(f.Bits, "") }

// Width returns the number of bits.
func (f field) Width() int { return len(f.Bits) }

// decode decodes the id of the request. If it has none, it makes an example, unless the
// worker issues no ids.
func decode(r *http.Request, w *panel) decoder {
	st, l := w.worker.Status(), w.worker.Layout().WithDefaults()
	if st.Now.IsZero() {
		st.Now = now()
	}
	d := decoder{Input: strings.TrimSpace(r.URL.Query().Get("id")), Layout: l.String()}
	if len(d.Input) > 100 {
		d.Input = strings.ToValidUTF8(d.Input[:100], "") + "..."
	}
	id := int64(0)
	if d.Input == "" {
		d.Example = true
		if !issues(st) {
			return d
		}
		at := st.Now
		if st.Floor.After(at) {
			at = st.Floor.Add(l.TimeUnit)
		}
		id, d.Err = l.Encode(snowflake.Parts{Time: at, Worker: st.Worker, Business: st.Business})
	} else if id, d.Err = strconv.ParseInt(strings.ReplaceAll(d.Input, ",", ""), 10, 64); d.Err != nil {
		d.Err = fmt.Errorf("%q is not an id; enter a whole number from 1 to 9223372036854775807, in digits", d.Input)
	}
	if d.Err != nil {
		return d
	}
	p, err := l.Decode(id)
	if err != nil {
		d.Err = err
		return d
	}
	d.ID, d.Hex, d.Time, d.JSSafe = strconv.FormatInt(id, 10), fmt.Sprintf("%#016x", id), p.Time, id < 1<<53
	d.Fields = fields(id, l, p, st.Now)
	for i, f := range d.Fields {
		if f.Name == "worker" && f.Value == st.Worker && st.Sequence == nil {
			d.Fields[i].Meaning += "; this process now holds it"
		}
	}
	return d
}

func fields(id int64, l snowflake.Layout, p snowflake.Parts, now time.Time) []field {
	bits := fmt.Sprintf("%064b", id)
	low := 64
	var all []field
	add := func(name string, width int, value int64, meaning string) {
		if width == 0 {
			return
		}
		high := low - 1
		low -= width
		all = append(all, field{name, high, low, bits[63-high : 64-low], value, meaning})
	}
	unused := "the sign; ids are positive"
	if l.Bits() < 63 {
		unused = "the sign, and bits that this layout does not use"
	}
	shift := l.WorkerBits + l.BusinessBits + l.SequenceBits
	add("unused", 64-l.Bits(), 0, unused)
	add("time", int(l.TimeBits), id>>shift, fmt.Sprintf("%s, %s; units of %v since %s", stamp(p.Time), ago(p.Time, now), l.TimeUnit, stamp(time.UnixMilli(l.Epoch))))
	add("worker", int(l.WorkerBits), p.Worker, fmt.Sprintf("the worker id that made it, one of %s", thousands(l.Workers())))
	add("business", int(l.BusinessBits), p.Business, fmt.Sprintf("the business number, one of %s", thousands(1<<l.BusinessBits)))
	add("sequence", int(l.SequenceBits), p.Sequence, fmt.Sprintf("the number of the id within its %[2]v and worker, one of %[1]s", thousands(l.PerTick()), l.TimeUnit))
	return all
}

func serveDecode(w http.ResponseWriter, r *http.Request, p *panel) {
	d := decode(r, p)
	switch {
	case d.Example:
		fail(w, http.StatusBadRequest, "the request has no id; ask for api/decode?id=123")
	case d.Err != nil:
		fail(w, http.StatusBadRequest, d.Err.Error())
	default:
		reply(w, http.StatusOK, d)
	}
}
