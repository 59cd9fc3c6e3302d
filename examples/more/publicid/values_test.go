package publicid

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	stdjson "encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"html/template"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/bytedance/sonic"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	jsonv2 "github.com/go-json-experiment/json"
	gojson "github.com/goccy/go-json"
	"github.com/jackc/pgx/v5"
	jsoniter "github.com/json-iterator/go"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/swaggo/swag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var orderIDs = publicid.Must(publicid.NewSealed("ord", []byte("a secret of the tests, 32 bytes.")))

type order struct {
	ID    orderID  `bun:"id,pk,type:bigint" db:"id"`
	After *orderID `bun:"after" db:"after"`
}

type orderID = publicid.ID[order]

func (order) Codec() *publicid.Codec { return orderIDs }

const id = 912338055136935936

// Both types are tested alike.
type ids interface {
	snowflake.ID | orderID
	fmt.Stringer
}

// refused are texts that are no id of either type.
var refused = []string{"", "-5", "007", " 7", "1e3", "cus_0saa6m2dr40006", "ord_36mwvs7er4ssmnnmzc1g4fzdwmx"}

// TestWhereItWorks has each use of "Where it works" in docs/publicid.md that another package
// does not test.
func TestWhereItWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/publicid.md")
	require.NoError(t, err)
	for row, tests := range map[string][2]func(*testing.T){
		"JSON":                               {inJSON[snowflake.ID], inJSON[orderID]},
		"flags, slog, templates":             {inTexts[snowflake.ID], inTexts[orderID]},
		"`net/http`, chi, gin, echo":         {inRoutes[snowflake.ID], inRoutes[orderID]},
		"gqlgen":                             {inGraphQL[snowflake.ID], inGraphQL[orderID]},
		"swag, Huma":                         {inOpenAPI[snowflake.ID], inOpenAPI[orderID]},
		"go-redis":                           {inRedis[snowflake.ID], inRedis[orderID]},
		"`database/sql`, sqlx, bun, MongoDB": {inBSON[snowflake.ID], inBSON[orderID]},
		"pgx":                                {inPgx[snowflake.ID], inPgx[orderID]},
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(page), row)
			t.Run("snowflake.ID", tests[0])
			t.Run("publicid.ID", tests[1])
		})
	}
}

// A record has an id wherever a struct can have one.
type record[T ids] struct {
	ID    T            `json:"id" yaml:"id" bson:"id"`
	Zero  T            `json:"zero" yaml:"zero,omitempty" bson:"zero"`
	None  T            `json:"-" yaml:"none,omitempty" bson:"none,omitempty"`
	Of    *T           `json:"of" yaml:"of" bson:"of"`
	Nil   *T           `json:"nil" yaml:"nil" bson:"nil"`
	List  []T          `json:"list" yaml:"list" bson:"list"`
	Names map[T]string `json:"names" yaml:"names" bson:"-"`
}

func recordOf[T ids]() record[T] {
	of := T(7)
	return record[T]{ID: id, Of: &of, List: []T{id, 8}, Names: map[T]string{id: "a", 9: "b"}}
}

// Each package reads what it wrote itself and what the others wrote: strings, and null for the
// zero publicid.ID.
func inJSON[T ids](t *testing.T) {
	type codec struct {
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}
	for name, c := range map[string]codec{
		"encoding/json":           {stdjson.Marshal, stdjson.Unmarshal},
		"encoding/json/v2":        {func(v any) ([]byte, error) { return jsonv2.Marshal(v) }, func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) }},
		"jsoniter":                {jsoniter.ConfigCompatibleWithStandardLibrary.Marshal, jsoniter.ConfigCompatibleWithStandardLibrary.Unmarshal},
		"jsoniter, as in gin":     {jsoniter.Marshal, jsoniter.Unmarshal},
		"sonic":                   {sonic.Marshal, sonic.Unmarshal},
		"sonic, as encoding/json": {sonic.ConfigStd.Marshal, sonic.ConfigStd.Unmarshal},
		"go-json":                 {gojson.Marshal, gojson.Unmarshal},
	} {
		in, out := recordOf[T](), record[T]{}
		want, err := stdjson.Marshal(in)
		require.NoError(t, err)
		b, err := c.marshal(in)
		require.NoError(t, err, name)
		require.JSONEq(t, string(want), string(b), name)
		require.NoError(t, c.unmarshal(b, &out), "%s: %s", name, b)
		require.Equal(t, in, out, name)
		for _, text := range refused {
			var got T
			quoted, err := stdjson.Marshal(text)
			require.NoError(t, err)
			require.Error(t, c.unmarshal(quoted, &got), "%s %q", name, text)
			require.Zero(t, got)
		}
		for _, text := range []string{"1.5", "true", "[1]", "{}"} {
			require.Error(t, c.unmarshal([]byte(`{"id":`+text+`}`), &out), "%s %s", name, text)
		}
		if _, sealed := any(in.ID).(orderID); sealed {
			require.Error(t, c.unmarshal([]byte(`{"id":912338055136935936}`), &out), name)
		}
	}
}

func inYAML[T ids](t *testing.T) {
	in, out := recordOf[T](), record[T]{}
	b, err := yaml.Marshal(in)
	require.NoError(t, err)
	require.Contains(t, string(b), in.ID.String())
	require.NoError(t, yaml.Unmarshal(b, &out), string(b))
	require.Equal(t, in, out)
	require.Error(t, yaml.Unmarshal([]byte("id: -5"), &out))
	require.Error(t, yaml.Unmarshal([]byte(`id: ""`), &out))
}

func inTexts[T ids](t *testing.T) {
	inYAML[T](t)
	var read T
	text := T(id).String()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(new(bytes.Buffer))
	fs.TextVar(any(&read).(encoding.TextUnmarshaler), "order", any(T(0)).(encoding.TextMarshaler), "")
	require.NoError(t, fs.Parse([]string{"--order", text}))
	require.Equal(t, T(id), read)
	for _, text := range refused {
		require.Error(t, fs.Parse([]string{"--order", text}))
	}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("placed", "order", read)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("placed", "orders", []T{read})
	require.NoError(t, template.Must(template.New("").Parse("({{.}})")).Execute(&out, read))
	for _, want := range []string{"order=" + text, `"orders":["` + text + `"]`, "(" + text + ")"} {
		require.Contains(t, out.String(), want)
	}
	type element struct {
		ID   T `xml:"id,attr"`
		None T `xml:"none,omitempty"`
		Of   *T
	}
	in, back := element{ID: id, Of: &read}, element{}
	b, err := xml.Marshal(in)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(b, &back))
	require.Equal(t, in, back)
}

func inRoutes[T ids](t *testing.T) {
	type bound struct {
		ID   T   `uri:"id" param:"id"`
		Of   *T  `form:"of" query:"of"`
		List []T `form:"list" query:"list"`
	}
	parse := func(text string) (bound, error) {
		var b bound
		return b, any(&b.ID).(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
	gin.SetMode(gin.ReleaseMode)
	ginRouter, echoRouter, chiRouter, mux := gin.New(), echo.New(), chi.NewRouter(), http.NewServeMux()
	answer := func(w http.ResponseWriter, b bound, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, cmp.Or(b.ID, append(b.List, 0)[0]))
		if b.Of != nil {
			fmt.Fprint(w, *b.Of)
		}
	}
	plain := func(param func(*http.Request, string) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			b, err := parse(param(r, "id"))
			answer(w, b, err)
		}
	}
	mux.Handle("/parsed/{id}", plain((*http.Request).PathValue))
	chiRouter.Get("/parsed/{id}", plain(chi.URLParam))
	inGin := func(bind func(*gin.Context, any) error) gin.HandlerFunc {
		return func(c *gin.Context) {
			var b bound
			err := bind(c, &b)
			answer(c.Writer, b, err)
		}
	}
	ginRouter.GET("/bound/:id", inGin((*gin.Context).ShouldBindUri))
	ginRouter.GET("/query", inGin((*gin.Context).ShouldBindQuery))
	inEcho := func(c echo.Context) error {
		var b bound
		err := c.Bind(&b)
		answer(c.Response(), b, err)
		return nil
	}
	echoRouter.GET("/bound/:id", inEcho)
	echoRouter.GET("/query", inEcho)

	for _, r := range []struct {
		name   string
		router http.Handler
		paths  []string
	}{
		{"net/http", mux, []string{"/parsed/"}},
		{"chi", chiRouter, []string{"/parsed/"}},
		{"gin", ginRouter, []string{"/bound/", "/query?of=", "/query?list="}},
		{"echo", echoRouter, []string{"/bound/", "/query?of=", "/query?list="}},
	} {
		for _, path := range r.paths {
			get := func(text string) *httptest.ResponseRecorder {
				rec := httptest.NewRecorder()
				r.router.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+text, nil))
				return rec
			}
			rec := get(T(id).String())
			require.Equal(t, http.StatusOK, rec.Code, "%s %s", r.name, path)
			require.Contains(t, rec.Body.String(), T(id).String())
			for _, text := range refused {
				if text != "" || strings.Contains(path, "?") {
					require.Equal(t, http.StatusBadRequest, get(url.PathEscape(text)).Code, "%s %s %q", r.name, path, text)
				}
			}
		}
	}
	values := url.Values{"of": {T(id).String()}}
	require.Equal(t, "of="+fmt.Sprint(T(id)), values.Encode())
}

func inRedis[T ids](t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: testserver.Redis(t)})
	t.Cleanup(func() { _ = rdb.Close() })
	ctx, key := t.Context(), t.Name()
	for _, want := range []T{id, 0} {
		var got T
		require.NoError(t, rdb.Set(ctx, key, want, 0).Err())
		require.NoError(t, rdb.Get(ctx, key).Scan(&got))
		require.Equal(t, want, got)
		text, err := rdb.Eval(ctx, "return ARGV[1]", nil, want).Text()
		require.NoError(t, err)
		require.Equal(t, want.String(), text)
	}
	type hash struct {
		ID   T  `redis:"id"`
		Of   *T `redis:"of"`
		Zero T  `redis:"zero,omitempty"`
	}
	of := T(7)
	in, out := hash{ID: id, Of: &of}, hash{}
	require.NoError(t, rdb.HSet(ctx, key+"h", in).Err())
	require.NoError(t, rdb.HGetAll(ctx, key+"h").Scan(&out))
	require.Equal(t, in, out)
	require.NoError(t, rdb.ZAdd(ctx, key+"z", redis.Z{Score: 1, Member: T(id)}).Err())
	require.NoError(t, rdb.ZScore(ctx, key+"z", T(id).String()).Err())
	var list []T
	require.NoError(t, rdb.ZRange(ctx, key+"z", 0, -1).ScanSlice(&list))
	require.Equal(t, []T{id}, list)
	require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: key + "x", Values: map[string]any{"order": T(id)}}).Err())
	entries, err := rdb.XRange(ctx, key+"x", "-", "+").Result()
	require.NoError(t, err)
	require.Equal(t, T(id).String(), entries[0].Values["order"])
	for _, text := range refused[1:] {
		require.NoError(t, rdb.Set(ctx, key, text, 0).Err())
		require.Error(t, rdb.Get(ctx, key).Scan(&of), text)
	}
}

func inBSON[T ids](t *testing.T) {
	in, out := recordOf[T](), record[T]{}
	b, err := bson.Marshal(in)
	require.NoError(t, err)
	require.Equal(t, int64(id), bson.Raw(b).Lookup("id").Int64())
	require.NoError(t, bson.Unmarshal(b, &out))
	in.Names = nil
	require.Equal(t, in, out)
}

func inPgx[T ids](t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		config, err := pgx.ParseConfig(testserver.Postgres(t))
		require.NoError(t, err)
		config.DefaultQueryExecMode = mode
		conn, err := pgx.ConnectConfig(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		_, err = conn.Exec(t.Context(), "CREATE TABLE rows (id BIGINT PRIMARY KEY, of BIGINT)")
		require.NoError(t, err)
		type row struct {
			ID T
			Of *T
		}
		of := T(7)
		want := []row{{8, &of}, {id, nil}}
		_, err = conn.Exec(t.Context(), "INSERT INTO rows VALUES ($1, $2)", want[0].ID, want[0].Of)
		require.NoError(t, err, mode)
		_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"rows"}, []string{"id", "of"}, pgx.CopyFromRows([][]any{{want[1].ID, want[1].Of}}))
		require.NoError(t, err, mode)
		if mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
			conn.TypeMap().RegisterDefaultPgType([]T{}, "_int8")
		}
		rows, err := conn.Query(t.Context(), "SELECT id, of FROM rows WHERE id = ANY($1) ORDER BY id", []T{id, 8, 9})
		require.NoError(t, err, mode)
		got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		require.NoError(t, err, mode)
		require.Equal(t, want, got)
		var list []T
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT array_agg(id ORDER BY id) FROM rows").Scan(&list), mode)
		require.Equal(t, []T{8, id}, list)
	}
}

// MarshalOrderID and UnmarshalOrderID bind the type in GraphQL, with "model: your/ids.OrderID" in the
// configuration of gqlgen.
func MarshalOrderID(id orderID) graphql.Marshaler { return graphql.MarshalAny(id) }

func UnmarshalOrderID(v any) (orderID, error) {
	text, err := graphql.UnmarshalString(v)
	if err != nil {
		return 0, err
	}
	return publicid.Parse[order](text)
}

// What the code that gqlgen generates calls.
func inGraphQL[T ids](t *testing.T) {
	write := func(id T) string {
		m, ok := any(id).(graphql.Marshaler)
		if !ok {
			m = MarshalOrderID(orderID(id))
		}
		var out strings.Builder
		m.MarshalGQL(&out)
		return strings.TrimSpace(out.String())
	}
	read := func(v any) (got T, err error) {
		if u, ok := any(&got).(graphql.Unmarshaler); ok {
			return got, u.UnmarshalGQL(v)
		}
		id, err := UnmarshalOrderID(v)
		return T(id), err
	}
	require.Equal(t, `"`+T(id).String()+`"`, write(T(id)))
	got, err := read(T(id).String())
	require.NoError(t, err)
	require.Equal(t, T(id), got)
	wrong := []any{true, 1.5, int64(-5), stdjson.Number("1e3")}
	for _, text := range refused {
		wrong = append(wrong, text)
	}
	number := []any{int64(id), stdjson.Number("912338055136935936")} // a literal and a variable
	if _, opaque := any(got).(orderID); opaque {
		wrong, number = append(wrong, number...), nil
		require.Equal(t, "null", write(T(0)))
	}
	for _, v := range number {
		got, err := read(v)
		require.NoError(t, err)
		require.Equal(t, T(id), got)
	}
	for _, v := range wrong {
		_, err := read(v)
		require.Error(t, err, "%T %v", v, v)
	}
}

// Swag describes a field by its tag, and Huma by the type.
func inOpenAPI[T ids](t *testing.T) {
	source := t.TempDir()
	kind := map[bool]string{true: "publicid.ID[Order]", false: "snowflake.ID"}[fmt.Sprint(T(id)) != fmt.Sprint(int64(id))]
	require.NoError(t, os.WriteFile(filepath.Join(source, "main.go"), []byte(`package main

type Order struct {
	ID   `+kind+"   `json:\"id\" swaggertype:\"string\"`"+`
	List []`+kind+" `json:\"list\" swaggertype:\"array,string\"`"+`
}

// @Success 200 {object} Order
// @Router  /order [get]
func get() {}
`), 0o600))
	parser := swag.New(swag.SetDebugger(log.New(io.Discard, "", 0)))
	require.NoError(t, parser.ParseAPI(source, "main.go", 0))
	properties := parser.GetSwagger().Definitions["main.Order"].Properties
	require.Equal(t, "string", properties["id"].Type[0])
	require.Equal(t, "string", properties["list"].Items.Schema.Type[0])

	type body struct {
		ID   T   `json:"id"`
		List []T `json:"list"`
	}
	type message struct{ Body body }
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("orders", "1"))
	huma.Post(api, "/orders/{id}", func(_ context.Context, in *struct {
		ID   string `path:"id"`
		Body body
	},
	) (*message, error) {
		err := any(&in.Body.ID).(encoding.TextUnmarshaler).UnmarshalText([]byte(in.ID))
		return &message{Body: in.Body}, err
	})
	schemas := huma.NewMapRegistry("", huma.DefaultSchemaNamer)
	require.Equal(t, huma.TypeString, huma.SchemaFromType(schemas, reflect.TypeFor[T]()).Type)
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders/"+T(id).String(), strings.NewReader(fmt.Sprintf(`{"id":"%v","list":["%[1]v"]}`, T(id))))
	mux.ServeHTTP(rec, r)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	require.Contains(t, rec.Body.String(), fmt.Sprintf(`"id":"%v","list":["%[1]v"]`, T(id)))
}
