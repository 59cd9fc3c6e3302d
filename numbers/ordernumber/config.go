package ordernumber

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
)

const (
	dateDigits = 8
	maxDigits  = 19 // enough for every int64
	maxGene    = 9
)

// Config is the format of order numbers. Zero fields take the default. All processes
// that read each other's order numbers must use the same Config.
type Config struct {
	// Zone is the time zone of the date, such as "Asia/Shanghai". Default: "UTC".
	Zone string `yaml:"zone" json:"zone" env:"ZONE"`
	// Digits is the width of the number, 1 to 19; 19 digits hold any id. Default: 8.
	Digits int `yaml:"digits" json:"digits" env:"DIGITS"`
	// Gene is the width of the shard gene, 1 to 9, or -1 for no gene. Default: 2.
	Gene int `yaml:"gene" json:"gene" env:"GENE"`
	// Shards is the modulus for user ids, 1 to 10^Gene. Default: 10^Gene.
	Shards int64 `yaml:"shards" json:"shards" env:"SHARDS"`
	// Check appends a check digit (Damm algorithm), for numbers that people type. It
	// detects every single wrong digit and every swap of two neighbors. Default: false.
	Check bool `yaml:"check" json:"check" env:"CHECK"`
}

// withDefaults returns c with its zero fields filled in.
func (c Config) withDefaults() Config {
	c.Zone = cmp.Or(c.Zone, "UTC")
	c.Digits = cmp.Or(c.Digits, 8)
	c.Gene = cmp.Or(c.Gene, 2)
	c.Shards = cmp.Or(c.Shards, c.genes())
	return c
}

// validate fills in defaults and returns all faults of c joined into one error, or nil.
func (c Config) validate() error {
	c = c.withDefaults()
	f := fault.Texts{In: "ordernumber: config: "}
	_, unknown := time.LoadLocation(c.Zone)
	local := slices.Contains([]string{"Local", "localtime", "posixrules"}, c.Zone)
	f.Check(local, "zone %q differs from host to host: give a name such as \"Asia/Shanghai\"", c.Zone)
	f.Check(!local && unknown != nil, "zone %q is unknown here (%w): give a name such as \"Asia/Shanghai\"; if this host has no time zone database, import time/tzdata", c.Zone, unknown)
	f.Check(c.Digits < 1 || c.Digits > maxDigits, "digits %d is not from 1 to %d", c.Digits, maxDigits)
	wide := c.Gene < -1 || c.Gene > maxGene
	f.Check(wide, "gene %d is not from 1 to %d, or -1 for none", c.Gene, maxGene)
	f.Check(!wide && (c.Shards < 1 || c.Shards > c.genes()), "shards %d is not from 1 to %d, which a gene of %d digits holds", c.Shards, c.genes(), c.gene())
	return f.Err()
}

// gene returns the number of digits of the gene.
func (c Config) gene() int { return max(0, min(c.Gene, maxGene)) }

// genes returns how many genes there are of that width.
func (c Config) genes() int64 { return int64(math.Pow10(c.gene())) }
