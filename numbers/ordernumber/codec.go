package ordernumber

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrCapacity is returned for a number that does not fit Config.Digits.
	ErrCapacity = errors.New("ordernumber: the number has too many digits")
	// ErrArgument is returned for arguments that have no order number, such as a negative
	// number or user, or a year past 9999.
	ErrArgument = errors.New("ordernumber: the argument is not valid")
	// ErrSyntax is returned for a string that Format cannot produce.
	ErrSyntax = errors.New("ordernumber: not an order number")
)

// Codec formats and parses order numbers. It is safe for concurrent use.
type Codec struct {
	cfg      Config
	zone     *time.Location
	capacity int64
}

// Parts are the fields of an order number.
type Parts struct {
	Year   int // in Config.Zone
	Month  time.Month
	Day    int
	Number int64
	Gene   int64 // the user's id modulo Config.Shards; 0 without a gene
}

// New returns a Codec. The error contains all faults of cfg.
func New(cfg Config) (*Codec, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Codec{cfg: cfg.withDefaults(), capacity: math.MaxInt64}
	if c.cfg.Digits < maxDigits {
		c.capacity = int64(math.Pow10(c.cfg.Digits)) - 1
	}
	var err error
	c.zone, err = time.LoadLocation(c.cfg.Zone)
	return c, err
}

// Capacity returns the greatest number that fits. Set numbers.SegmentConfig.Max to it, so that
// the sequence ends before the digits run out.
func (c *Codec) Capacity() int64 { return c.capacity }

// Len returns the length of every order number in digits, for the width of a column.
func (c *Codec) Len() int {
	n := dateDigits + c.cfg.Digits + c.cfg.gene()
	if c.cfg.Check {
		n++
	}
	return n
}

// Gene returns the gene of a user id, which must not be negative.
func (c *Codec) Gene(user int64) int64 { return user % c.cfg.Shards }

// Format returns the order number for the date of at in Config.Zone, a number from 0 to
// Capacity, and a user id. The user id must not be negative, unless there is no gene.
//
// Errors: ErrCapacity, ErrArgument.
func (c *Codec) Format(at time.Time, number, user int64) (string, error) {
	g := c.cfg.gene()
	at = at.In(c.zone)
	switch {
	case user < 0 && g > 0:
		return "", fmt.Errorf("%w: user %d is negative", ErrArgument, user)
	case number > c.capacity:
		return "", fmt.Errorf("%w: %d is above %d, the greatest number of %d digits: raise Config.Digits for new order numbers, or begin a new sequence",
			ErrCapacity, number, c.capacity, c.cfg.Digits)
	case number < 0:
		return "", fmt.Errorf("%w: number %d is negative", ErrArgument, number)
	case at.Year() < 1 || at.Year() > 9999:
		return "", fmt.Errorf("%w: the year %d is not from 1 to 9999", ErrArgument, at.Year())
	}
	s := fmt.Sprintf("%s%0*d", at.Format("20060102"), c.cfg.Digits, number)
	if g > 0 {
		s += fmt.Sprintf("%0*d", g, c.Gene(user))
	}
	if c.cfg.Check {
		s += string('0' + damm(s))
	}
	return s, nil
}

// Parse splits an order number into its parts. It accepts exactly the strings that Format
// produces: the right length, only digits, a valid date, a gene below Config.Shards, and a
// correct check digit.
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
		return fault("it has characters other than digits")
	}
	if c.cfg.Check && damm(s) != 0 {
		return fault("the check digit is wrong: was it mistyped?")
	}
	date, err := time.Parse("20060102", s[:dateDigits])
	if err != nil || date.Year() < 1 {
		return fault("%s is not a date", s[:dateDigits])
	}
	number, err := strconv.ParseInt(s[dateDigits:dateDigits+c.cfg.Digits], 10, 64)
	if err != nil {
		return fault("the number is above %d", c.capacity)
	}
	gene, _ := strconv.ParseInt(s[dateDigits+c.cfg.Digits:][:c.cfg.gene()], 10, 64) // 0 without a gene
	if gene >= c.cfg.Shards {
		return fault("the gene %d is not below %d", gene, c.cfg.Shards)
	}
	return Parts{Year: date.Year(), Month: date.Month(), Day: date.Day(), Number: number, Gene: gene}, nil
}

// damm returns the check digit of a string of digits by the Damm algorithm. With the
// check digit appended, the result is 0.
func damm(s string) (check byte) {
	// A quasigroup: each row and column contains every digit once. x after x is 0, and
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
