// Sends one mail a line of stdin ("login<TAB>timeout in ms") with net/smtp, and says what it saw.
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/smtp"
	"os"
	"strconv"
	"strings"
	"time"
)

const message = "From: a@example.com\r\nTo: b@example.com\r\nSubject: Receipt 17\r\n\r\nThank you.\r\n"

// Does what smtp.SendMail does, on a connection with a deadline: SendMail itself waits for ever.
func send(port, user string, timeout time.Duration) error {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(timeout))
	client, err := smtp.NewClient(conn, "127.0.0.1")
	if err != nil {
		return err
	}
	if err = client.Auth(smtp.PlainAuth("", user, "secret", "127.0.0.1")); err != nil {
		return err
	}
	if err = client.Mail("a@example.com"); err != nil {
		return err
	}
	if err = client.Rcpt("b@example.com"); err != nil {
		return err
	}
	content, err := client.Data()
	if err != nil {
		return err
	}
	if _, err = content.Write([]byte(message)); err != nil {
		return err
	}
	if err = content.Close(); err != nil {
		return err
	}
	return client.Quit()
}

// Drops "read tcp 127.0.0.1:40000->127.0.0.1:1025: ", and what the server said after its code.
func seen(err error) string {
	if err == nil {
		return "ok"
	}
	// Newer versions quote a short response.
	text := strings.ReplaceAll(err.Error(), `"`, "")
	if strings.HasPrefix(text, "read tcp ") {
		text = text[strings.Index(text, ": ")+2:]
	}
	if len(text) > 3 && text[3] == ' ' {
		if _, err := strconv.Atoi(text[:3]); err == nil {
			text = text[:3]
		}
	}
	return text
}

func main() {
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		user, timeout, _ := strings.Cut(lines.Text(), "\t")
		ms, _ := strconv.Atoi(timeout)
		fmt.Println(seen(send(os.Args[1], user, time.Duration(ms)*time.Millisecond)))
	}
}
