// Gin is a web service with gin and fx whose orders have snowflake ids as primary keys, and
// opaque public ids such as ord_3z5h8216y10geyvz9xdn5qawmb.
//
//	cd examples/more && go run ./gin        # SQLite in gin.db, HTTP on 127.0.0.1:8080
//	curl -H 'Content-Type: application/json' -d '{"total":5}' 127.0.0.1:8080/orders
//	curl 127.0.0.1:8080/orders/ord_...      # the id of the answer
//	curl 127.0.0.1:8080/readyz
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/libtnb/sqlite"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/publicid"
)

// orderIDs seals ids with a secret that all replicas share. Without one, public ids are
// valid until the program ends.
var orderIDs = publicid.Must(publicid.NewSealed("ord", []byte(cmp.Or(os.Getenv("ORDER_ID_SECRET"), rand.Text()+rand.Text()))))

// An Order has an id that is a BIGINT in the database and ord_... in JSON and paths.
type Order struct {
	ID    publicid.ID[Order] `gorm:"primaryKey" json:"id"`
	Total int64              `json:"total" binding:"required"`
}

// Codec returns the codec of order ids.
func (Order) Codec() *publicid.Codec { return orderIDs }

func main() { fx.New(wiring("gin.db"), fx.Invoke(serve)).Run() }

func wiring(dsn string) fx.Option {
	return fx.Options(
		fx.Supply(idworker.Config{Namespace: "gin-orders"}),
		fx.Provide(func(lc fx.Lifecycle) (*gorm.DB, error) { return open(lc, dsn) }, routes),
		idworker.Module,
		idworker.GORM,
	)
}

func routes(db *gorm.DB, worker *idworker.IdWorker) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/orders", func(c *gin.Context) {
		// A page of another site can send forms and plain text, but no JSON.
		if c.ContentType() != gin.MIMEJSON {
			c.JSON(http.StatusUnsupportedMediaType, gin.H{"error": "send application/json"})
			return
		}
		var order Order
		if err := c.ShouldBindJSON(&order); err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		order.ID = 0 // clients must not choose it
		if err := db.WithContext(c).Create(&order).Error; err != nil {
			_ = c.Error(err) // for the log, as of gin.Logger
			c.JSON(http.StatusServiceUnavailable, gin.H{"error": "try again"})
			return
		}
		c.JSON(http.StatusCreated, order)
	})
	r.GET("/orders/:id", func(c *gin.Context) {
		id, err := publicid.Parse[Order](c.Param("id"))
		if err != nil {
			c.JSON(http.StatusNotFound, gin.H{"error": err.Error()})
			return
		}
		var order Order
		switch err := db.WithContext(c).First(&order, "id = ?", id).Error; {
		case errors.Is(err, gorm.ErrRecordNotFound):
			c.JSON(http.StatusNotFound, gin.H{"error": "there is no order " + id.String()})
		case err != nil:
			c.JSON(http.StatusInternalServerError, gin.H{"error": "see the log"})
		default:
			c.JSON(http.StatusOK, order)
		}
	})
	// Readiness depends on the lease. Liveness must not: a restart does not bring the
	// center back.
	r.GET("/readyz", func(c *gin.Context) {
		status := http.StatusOK
		if worker.Healthy() != nil {
			status = http.StatusServiceUnavailable
		}
		c.JSON(status, worker.Status())
	})
	return r
}

func open(lc fx.Lifecycle, dsn string) (*gorm.DB, error) {
	db, err := gorm.Open(sqlite.Open(dsn))
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(pool.Close))
	return db, db.AutoMigrate(&Order{})
}

func serve(lc fx.Lifecycle, r *gin.Engine) {
	server := &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:8080")
			if err == nil {
				go func() { _ = server.Serve(l) }()
			}
			return err
		},
		OnStop: server.Shutdown,
	})
}
