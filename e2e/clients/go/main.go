// Prints the page at a URL as any program does that leaves its proxy to net/http, or why there is none.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	log.SetFlags(0)
	response, err := http.Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}
