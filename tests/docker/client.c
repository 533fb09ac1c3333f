/* The client inside the containers' network: one static file, because an image FROM scratch has nothing else.
 *
 *   client call IP PORT REQUEST   sends the request, reads to the end, and prints what it read and how it ended
 *   client cat FILE               prints a file, or why it cannot be read
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    return 1;
}

/* Copies all of fd to standard output; the last read's result tells how it ended. */
static ssize_t copy(int fd) {
    char bytes[4096];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        fwrite(bytes, 1, n, stdout);
    return n;
}

static int call(const char *ip, const char *port, const char *request) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, ip, &to.sin_addr) != 1 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return fail("connect");
    if (write(fd, request, strlen(request)) != (ssize_t)strlen(request))
        return fail("write");
    puts("sent");
    fflush(stdout);
    ssize_t end = copy(fd);
    puts(end == 0 ? "ended by FIN" : errno == ECONNRESET ? "ended by RST" : strerror(errno));
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "call") == 0)
        return call(argv[2], argv[3], argv[4]);
    if (argc == 3 && strcmp(argv[1], "cat") == 0) {
        int fd = open(argv[2], O_RDONLY);
        return fd < 0 || copy(fd) < 0 ? fail(argv[2]) : 0;
    }
    return 2;
}
