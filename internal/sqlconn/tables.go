package sqlconn

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// Tables are the tables of a package, with their statements.
type Tables struct {
	Files   fs.FS    // its statements in sql/*.sql, and the tables in schema/NAME.sql, for each dialect
	Schema  string   // the folder of schema in the repository, for people
	Names   []string // without the prefix; if the first one exists, the others do too
	Rights  string   // that the account needs
	Damaged string   // the remedy for a row that the package cannot have written
}

func (c *Conn) definition() string { return c.tables.Schema + "/" + c.dialect.name + ".sql" }

func (c *Conn) grants() string {
	return "grant the account " + strings.ReplaceAll(c.tables.Rights, "snowlease_", c.Set.Prefix)
}

func (c *Conn) hasTable(ctx context.Context, name string) (bool, error) {
	n, err := Number(ctx, c, "table", Args{"schema": c.home.Load().schema, "table": c.Set.Prefix + name})
	return n > 0, err
}

// NoTable returns an error for a table that is missing.
func (c *Conn) NoTable(name string) error {
	return fmt.Errorf("there is no table %s: let a process acquire a worker id first, or run %s manually", c.Set.Prefix+name, c.definition())
}

// Create creates the missing tables. If tables were found before and are now gone, Create creates
// them where another start looks for them. By then, a connection of a given pool may lead
// elsewhere. Create refuses that, because the tables there would belong to another namespace.
func (c *Conn) Create(ctx context.Context) error {
	if h := c.home.Load(); h.there {
		if ok, err := c.hasTable(ctx, c.tables.Names[0]); err != nil {
			return err
		} else if !ok {
			if c.Own { // the search_path of a new session: an old one goes by that of its beginning
				c.Pool().SetMaxIdleConns(0)
				c.Pool().SetMaxIdleConns(2)
			}
			now, err := c.find(ctx)
			if err != nil {
				return err
			}
			if !c.Own && now.schema != h.schema {
				return Advise(fmt.Errorf("the tables in schema %q are gone, and the search_path leads to %q now: restart the process", h.schema, now.schema))
			}
			c.home.Store(now)
			if err := c.Server(ctx, true); err != nil {
				return err
			}
		}
	}
	for _, name := range c.tables.Names {
		if err := c.createTable(ctx, name); err != nil {
			return err
		}
	}
	c.home.Store(&home{c.home.Load().schema, true})
	return nil
}

// createTable creates a table unless it exists.
func (c *Conn) createTable(ctx context.Context, name string) error {
	return c.patiently(ctx, func() error {
		if ok, err := c.hasTable(ctx, name); err != nil || ok {
			return err
		}
		if !c.Set.Migrate {
			return Advise(c.NoTable(name))
		}
		_, failure := c.Pool().ExecContext(ctx, c.named("create "+name).text)
		if failure == nil {
			return nil
		}
		// Another process may have created it first. Each engine reports that differently, so look for
		// the table.
		if ok, err := c.hasTable(ctx, name); err == nil && ok {
			return nil
		}
		return fmt.Errorf("create table %s: %w", c.Set.Prefix+name, failure)
	})
}
