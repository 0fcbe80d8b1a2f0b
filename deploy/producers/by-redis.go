// Registers a device and submits a campaign through Redis: go run by-redis.go ID USER TOKEN
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
)

type object map[string]any

func setting(name, usual string) string {
	if value, isSet := os.LookupEnv(name); isSet {
		return value
	}
	return usual
}

func lpush(server net.Conn, name string, value object) {
	body, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	key := fmt.Sprintf("{%s}:%s", setting("CARILLON_NAMESPACE", "carillon"), name)
	fmt.Fprintf(server, "*3\r\n$5\r\nLPUSH\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(body), body)
	if reply, err := bufio.NewReader(server).ReadString('\n'); err != nil || reply[0] != ':' {
		log.Fatal("Redis: ", reply, err)
	}
}

func main() {
	id, user, token := os.Args[1], os.Args[2], os.Args[3]
	server, err := net.Dial("tcp", net.JoinHostPort(setting("REDIS_HOST", "127.0.0.1"), setting("REDIS_PORT", "6379")))
	if err != nil {
		log.Fatal(err)
	}
	lpush(server, "registrations", object{"op": "register", "user": user, "token": token, "app": "news", "locale": "en"})
	lpush(server, "campaigns", object{"id": id, "app": "news", "audience": object{"users": []string{user}},
		"message": object{"body": "Hello from Go"}})
}
