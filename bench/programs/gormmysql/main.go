// Gormmysql prints what a database answers: what a program has that uses GORM already.
package main

import (
	"fmt"
	"log"
	"os"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

func main() {
	db, err := gorm.Open(mysql.Open(os.Args[1]), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	var n int
	fmt.Println(n, db.Raw("SELECT 1").Scan(&n).Error)
}
