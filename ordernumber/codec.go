package ordernumber

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

var (
	// ErrCapacity is returned for a number that is too large for Config.Digits.
	ErrCapacity = errors.New("ordernumber: the number has too many digits")
	// ErrArgument is returned for what has no order number: a negative number or user, a
	// year past 9999.
	ErrArgument = errors.New("ordernumber: the argument is not valid")
	// ErrSyntax is returned for text that Format does not make.
	ErrSyntax = errors.New("ordernumber: not an order number")
)

// Codec makes order numbers and takes them apart. It is safe for concurrent use.
type Codec struct {
	cfg      Config
	zone     *time.Location
	capacity int64
}

// Parts are what an order number tells.
type Parts struct {
	Year   int // in the codec's zone
	Month  time.Month
	Day    int
	Number int64
	Gene   int64 // the user's id modulo Config.Shards; 0 without a gene
}

// New returns a codec. Errors: those of Config.Validate.
func New(cfg Config) (*Codec, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Codec{cfg: cfg.WithDefaults(), capacity: math.MaxInt64}
	if c.cfg.Digits < maxDigits {
		c.capacity = pow10(c.cfg.Digits) - 1
	}
	var err error
	c.zone, err = time.LoadLocation(c.cfg.Zone)
	return c, err
}

// Capacity returns the greatest number that fits. Give it to segment.Config.Max, so
// that the numbers end before the digits do.
func (c *Codec) Capacity() int64 { return c.capacity }

// Len returns the length of every order number, in digits, for the width of a column.
func (c *Codec) Len() int {
	n := dateDigits + c.cfg.Digits + c.cfg.gene()
	if c.cfg.Check {
		n++
	}
	return n
}

// Gene returns the gene of a user id, which is at least 0.
func (c *Codec) Gene(user int64) int64 { return user % c.cfg.Shards }

// Format returns the order number for the day of at, a number of 0 to Capacity, and a
// user, whose id is at least 0 and may be anything where there is no gene.
//
// Errors: ErrCapacity, ErrArgument.
func (c *Codec) Format(at time.Time, number, user int64) (string, error) {
	if user < 0 && c.cfg.gene() > 0 {
		return "", fmt.Errorf("%w: user %d is negative", ErrArgument, user)
	}
	year, month, day := at.In(c.zone).Date()
	return c.Join(Parts{Year: year, Month: month, Day: day, Number: number, Gene: c.Gene(max(0, user))})
}

// Join is the inverse of Parse.
//
// Errors: ErrCapacity, ErrArgument.
func (c *Codec) Join(p Parts) (string, error) {
	switch date := time.Date(p.Year, p.Month, p.Day, 0, 0, 0, 0, time.UTC); {
	case p.Number > c.capacity:
		return "", fmt.Errorf("%w: %d is above %d, the greatest of %d digits: raise Config.Digits for new order numbers, or begin a new sequence",
			ErrCapacity, p.Number, c.capacity, c.cfg.Digits)
	case p.Number < 0:
		return "", fmt.Errorf("%w: number %d is negative", ErrArgument, p.Number)
	case p.Gene < 0 || p.Gene >= c.cfg.Shards:
		return "", fmt.Errorf("%w: gene %d is not from 0 to %d", ErrArgument, p.Gene, c.cfg.Shards-1)
	case p.Year < 1 || p.Year > 9999 || date.Year() != p.Year || date.Month() != p.Month || date.Day() != p.Day:
		return "", fmt.Errorf("%w: %d-%d-%d is no date of the years 1 to 9999", ErrArgument, p.Year, p.Month, p.Day)
	}
	s := fmt.Sprintf("%04d%02d%02d%0*d", p.Year, p.Month, p.Day, c.cfg.Digits, p.Number)
	if g := c.cfg.gene(); g > 0 {
		s += fmt.Sprintf("%0*d", g, p.Gene)
	}
	if c.cfg.Check {
		s += string('0' + damm(s))
	}
	return s, nil
}

// Parse takes an order number apart. It accepts exactly what Format makes: the length,
// digits only, a date that there is, a gene below Config.Shards, the right check digit.
//
// Errors: ErrSyntax.
func (c *Codec) Parse(s string) (Parts, error) {
	fault := func(format string, args ...any) (Parts, error) {
		return Parts{}, fmt.Errorf("%w: %.40q: "+format, append([]any{ErrSyntax, s}, args...)...)
	}
	if len(s) != c.Len() {
		return fault("it has %d characters, not %d", len(s), c.Len())
	}
	if strings.Trim(s, "0123456789") != "" {
		return fault("it has other characters than digits")
	}
	if c.cfg.Check && damm(s) != 0 {
		return fault("the check digit is wrong: was it mistyped?")
	}
	date, err := time.Parse("20060102", s[:dateDigits])
	if err != nil || date.Year() < 1 {
		return fault("%s is no date", s[:dateDigits])
	}
	number, ok := digits(s[dateDigits : dateDigits+c.cfg.Digits])
	if !ok {
		return fault("the number is above %d", c.capacity)
	}
	gene, _ := digits(s[dateDigits+c.cfg.Digits:][:c.cfg.gene()])
	if gene >= c.cfg.Shards {
		return fault("the gene %d is not below %d", gene, c.cfg.Shards)
	}
	return Parts{Year: date.Year(), Month: date.Month(), Day: date.Day(), Number: number, Gene: gene}, nil
}

// digits reads up to 19 digits, and reports false past the greatest int64.
func digits(s string) (n int64, ok bool) {
	var u uint64
	for i := range len(s) {
		u = u*10 + uint64(s[i]-'0')
	}
	return int64(u), u <= math.MaxInt64
}

// damm returns the check digit of a string of digits; with it at the end, 0.
func damm(s string) (check byte) {
	// A table in which each row and column has every digit once, x after x is 0, and
	// (c, x, y) differs from (c, y, x).
	const table = "" +
		"0317598642" +
		"7092154863" +
		"4206871359" +
		"1750983426" +
		"6123045978" +
		"3674209581" +
		"5869720134" +
		"8945362017" +
		"9438617205" +
		"2581436790"
	for i := range len(s) {
		check = table[int(check)*10+int(s[i]-'0')] - '0'
	}
	return check
}
