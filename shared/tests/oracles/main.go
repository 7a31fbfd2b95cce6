// Asks Go itself: which templates parse, and how quantities compare. Reads the texts of both lists and
// writes them anew with Go's answers. The tests need the answers only, so they need no Go.
//
//	cd shared/tests/oracles && go run . .
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"sort"
	"text/template"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A template, and whether Go parses it.
type source struct {
	Source string `json:"source"`
	Parses bool   `json:"parses"`
}

// A text, and its rank among all that are quantities; none if it is no quantity.
type quantity struct {
	Text string `json:"text"`
	Rank *int   `json:"rank"`
}

func main() {
	templates := read[source]("templates.json")
	for at := range templates {
		_, err := template.New("").Parse(templates[at].Source)
		templates[at].Parses = err == nil
	}
	write("templates.json", templates)

	quantities := read[quantity]("quantities.json")
	var known []resource.Quantity
	for _, one := range quantities {
		if parsed, err := resource.ParseQuantity(one.Text); err == nil {
			known = append(known, parsed)
		}
	}
	sort.Slice(known, func(a, b int) bool { return known[a].Cmp(known[b]) < 0 })
	for at := range quantities {
		quantities[at].Rank = nil
		parsed, err := resource.ParseQuantity(quantities[at].Text)
		if err != nil {
			continue
		}
		rank := sort.Search(len(known), func(it int) bool { return known[it].Cmp(parsed) >= 0 })
		quantities[at].Rank = &rank
	}
	write("quantities.json", quantities)
}

func read[T any](name string) (all []T) {
	text, err := os.ReadFile(filepath.Join(os.Args[1], name))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		log.Fatal(err)
	}
	return all
}

// One entry a line.
func write[T any](name string, all []T) {
	var text bytes.Buffer
	text.WriteString("[\n")
	for at, one := range all {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(one); err != nil {
			log.Fatal(err)
		}
		text.Write(bytes.TrimSpace(line.Bytes()))
		if at+1 < len(all) {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
	}
	text.WriteString("]\n")
	if err := os.WriteFile(filepath.Join(os.Args[1], name), text.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}
