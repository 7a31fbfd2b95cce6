// Asks Go itself: which templates parse, what they write, and how quantities compare. Reads the texts of
// all lists and writes them anew with Go's answers. The tests need the answers only, so they need no Go.
//
//	cd shared/tests/oracles && go run . .
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"sort"
	"text/template"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A template, and whether Go parses it.
type source struct {
	Source string `json:"source"`
	Parses bool   `json:"parses"`
}

// A key of the data that templates run on, with its value as a text or, where it is none, in hexadecimal.
type entry struct {
	Key   string  `json:"key"`
	Text  *string `json:"text,omitempty"`
	Bytes string  `json:"bytes,omitempty"`
}

// A template, and what Go writes for it: a text, bytes in hexadecimal where it is none, or nothing if it
// does not run.
type run struct {
	Source string  `json:"source"`
	Text   *string `json:"text,omitempty"`
	Bytes  string  `json:"bytes,omitempty"`
	Fails  bool    `json:"fails,omitempty"`
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

	data := map[string]string{}
	for _, one := range read[entry]("data.json") {
		if one.Text != nil {
			data[one.Key] = *one.Text
		} else if value, err := hex.DecodeString(one.Bytes); err == nil {
			data[one.Key] = string(value)
		} else {
			log.Fatal(err)
		}
	}
	runs := read[run]("runs.json")
	for at := range runs {
		runs[at] = answered(runs[at].Source, data)
	}
	write("runs.json", runs)

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

// What Go makes of a template.
func answered(source string, data map[string]string) run {
	answer := run{Source: source}
	parsed, err := template.New("").Option("missingkey=error").Parse(source)
	var out bytes.Buffer
	if err == nil {
		err = parsed.Execute(&out, data)
	}
	if written := out.String(); err != nil {
		answer.Fails = true
	} else if utf8.ValidString(written) {
		answer.Text = &written
	} else {
		answer.Bytes = hex.EncodeToString(out.Bytes())
	}
	return answer
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
