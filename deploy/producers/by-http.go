// Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… go run by-http.go ID USER
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

type object map[string]any

func main() {
	id, user := os.Args[1], os.Args[2]
	url, isSet := os.LookupEnv("CARILLON_URL")
	if !isSet {
		url = "http://127.0.0.1:8080"
	}
	job, err := json.Marshal(object{"id": id, "app": "news", "audience": object{"users": []string{user}},
		"message": object{"body": "Hello from Go"}})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", url+"/api/v1/campaigns", bytes.NewReader(job))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("CARILLON_TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	// A refusal has a body by RFC 9457 with the error and a hint.
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode >= 300 {
		log.Fatal(answer.Status, " ", string(body), err)
	}
}
