//go:build prove

package dbseq_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// shadows creates an operator or a function in the schema of the tables for every combination of
// types that pg_catalog has none for, and each fails when it is called. PostgreSQL prefers them to
// a built-in one that fits the types of the arguments less well.
const shadows = `DO $do$
DECLARE
  types text[] := '{text,varchar,bpchar,name,int2,int4,int8,numeric,float8,oid,regclass,timestamptz,timestamp,bool,bytea,pg_lsn}';
  names text[] := '{left,substr,encode,convert_to,to_char,generate_series,host,quote_ident,to_regclass,has_schema_privilege,pg_get_userbyid,date_part,timezone,current_setting,round,int8,numeric}';
  a text; b text; op text; f text;
BEGIN
  FOREACH a IN ARRAY types LOOP FOREACH b IN ARRAY types LOOP
    EXECUTE format('CREATE FUNCTION shadow(%s, %s) RETURNS bool LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''called: %1$s, %2$s''; END $f$', a, b);
    FOREACH op IN ARRAY '{=,<>,<,>,<=,>=,+,-,*,||}'::text[] LOOP
      IF NOT EXISTS (SELECT FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprname = op::name AND oprleft = a::regtype::oid AND oprright = b::regtype::oid) THEN
        EXECUTE format('CREATE OPERATOR %s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = shadow)', op, a, b);
      END IF;
    END LOOP;
  END LOOP; END LOOP;
  FOREACH f IN ARRAY names LOOP FOREACH a IN ARRAY types LOOP
    IF to_regprocedure(format('pg_catalog.%I(%s)', f, a)::text) IS NULL THEN
      EXECUTE format('CREATE FUNCTION %I(%s) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''called: %1$s(%2$s)''; END $f$', f, a);
    END IF;
    FOREACH b IN ARRAY types LOOP
      IF to_regprocedure(format('pg_catalog.%I(%s,%s)', f, a, b)::text) IS NULL THEN
        EXECUTE format('CREATE FUNCTION %I(%s, %s) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''called: %1$s(%2$s, %3$s)''; END $f$', f, a, b);
      END IF;
    END LOOP;
  END LOOP; END LOOP;
END $do$`

// Whoever may create in the schema of the tables on PostgreSQL cannot make a statement call what
// they created there: each argument has the very type that the built-in operator or function takes.
// https://wiki.postgresql.org/wiki/A_Guide_to_CVE-2018-1058:_Protect_Your_Search_Path
func TestNothingShadowsTheBuiltIns(t *testing.T) {
	onThose(t, "postgres", func(t *testing.T, e engine, dsn string) {
		admin := e.db(t, dsn)
		first(t, center(t, admin), request("orders", 4))
		require.NoError(t, segments(t, admin).Create(t.Context(), "shop/orders", 7))
		rawExec(t, admin, shadows)
		require.ErrorContains(t, admin.Exec("SELECT 'a'::varchar = 'b'::text").Error, "called: ", "the shadows are found")
		db := e.db(t, dsn)
		require.NoError(t, everyStatement(t, admin, db))
		all, err := center(t, db).Extras().Examine(t.Context(), "orders")
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprint(all), "called: ")
		rawExec(t, admin, "DROP TABLE snowlease_slot, snowlease_ticket, snowlease_meta, snowlease_segment")
		first(t, center(t, db), request("orders", 4)) // creates the tables
	})
}
