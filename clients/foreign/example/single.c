// A lock on one Redis, as Redis recommends it: SET with NX, PX and a random token, released by a script that compares the token
// and deletes the key. With -DBROKEN the release is GET, a comparison here, and DEL; in between, another client can get the key.
//
// clang --target=wasm32-wasi -O2 -o single.wasm single.c
// lockstep run --lock wasm:./single.wasm
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// dial begins to connect to IP:port. The result is a descriptor, or negative.
__attribute__((import_module("lockstep"), import_name("dial"))) int dial(const char *addr, size_t len);

static const int64_t second = 1000000000;
static const int64_t patience = 5 * second; // for one command
static const char *node;                   // IP:port
static int fd = -1;                        // the connection to it; negative: none

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * second + t.tv_nsec;
}

// ready waits until the connection can be read or written.
static int ready(short event, int64_t until) {
	struct pollfd p = {.fd = fd, .events = event};
	int64_t left = until - now();
	return poll(&p, 1, left > 0 ? (int)(left / 1000000) : 0) == 1;
}

// take reads n bytes, or, if n is 0, a line, and ends them with a 0 in place of CR LF.
static int take(char *to, size_t size, size_t n, int64_t until) {
	size_t got = 0;
	while (got < 2 || (n ? got < n + 2 : to[got - 1] != '\n')) {
		if (got == size || !ready(POLLIN, until) || read(fd, to + got, 1) != 1) return 0;
		got++;
	}
	to[got - 2] = 0;
	return 1;
}

static void hang_up(void) {
	if (fd >= 0) close(fd);
	fd = -1;
}

// command sends a command of n words. reply is the first line, such as +OK, :1, $-1 or -ERR..., or the string if the reply is
// one. Without a reply the result is 0, and nobody knows whether the command was carried out.
static int command(char reply[256], int n, const char *words[]) {
	char out[1024];
	int len = sprintf(out, "*%d\r\n", n);
	for (int i = 0; i < n; i++) len += sprintf(out + len, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
	int64_t until = now() + patience;
	if (fd >= 0 && ready(POLLIN, 0)) hang_up(); // nothing was asked, so the connection has ended: the node has crashed
	if (fd < 0) fd = dial(node, strlen(node));
	if (fd >= 0 && ready(POLLOUT, until) && write(fd, out, len) == len && take(reply, 256, 0, until)) {
		size_t size = reply[0] == '$' ? strtoul(reply + 1, NULL, 10) : 0;
		if (size == 0 || reply[1] == '-' || (size < 250 && take(reply, 256, size, until))) return 1;
	}
	hang_up(); // a late reply must not be taken for that to another command
	return 0;
}

// compare_and_delete gives the key back if it has the token: the reply is :1, or :0 if it has not.
static int compare_and_delete(char reply[256], const char *name, const char *token) {
#ifdef BROKEN
	if (!command(reply, 2, (const char *[]){"GET", name})) return 0;
	if (strcmp(reply, token) != 0) return strcpy(reply, ":0") != NULL;
	return command(reply, 2, (const char *[]){"DEL", name});
#else
	const char *script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
	return command(reply, 5, (const char *[]){"EVAL", script, "1", name, token});
#endif
}

// The newest token for each name.
static struct {
	char name[512], token[33];
} leases[64];

// token_of returns where the token for a name is, or NULL if there is no room for another name.
static char *token_of(const char *name) {
	for (size_t i = 0; i < sizeof leases / sizeof leases[0]; i++) {
		if (!leases[i].name[0]) strcpy(leases[i].name, name);
		if (strcmp(leases[i].name, name) == 0) return leases[i].token;
	}
	return NULL;
}

static void acquire(const char *name, const char *ttl) {
	unsigned char random[16];
	char reply[256], fresh[33]; // a client that is refused may hold the lock, and keeps the token of that lease
	char *token = token_of(name);
	if (!token) {
		printf("error too many names\n");
		return;
	}
	int64_t end = now() + strtoll(ttl, NULL, 10) * 1000000; // read before the request: the node starts to count later
	getentropy(random, sizeof random);
	for (int i = 0; i < 16; i++) sprintf(fresh + 2 * i, "%02x", random[i]);
	if (!command(reply, 6, (const char *[]){"SET", name, fresh, "NX", "PX", ttl})) {
		printf("error no reply\n");
	} else if (strcmp(reply, "$-1") == 0) {
		printf("refused\n");
	} else if (strcmp(reply, "+OK") != 0) {
		printf("error %s\n", reply);
	} else if (now() >= end) {
		compare_and_delete(reply, name, fresh);
		printf("refused it was over when it arrived\n");
	} else {
		strcpy(token, fresh);
		printf("ok %lld\n", end);
	}
}

static void release(const char *name) {
	char reply[256], *token = token_of(name);
	if (!token) printf("refused\n");
	else if (!compare_and_delete(reply, name, token)) printf("error no reply\n");
	else if (strcmp(reply, ":1") == 0) printf("ok\n");
	else if (strcmp(reply, ":0") == 0) printf("refused\n");
	else printf("error %s\n", reply);
}

int main(int argc, char *argv[]) {
	char line[640], name[512], ttl[32];
	if (argc < 2) return 1;
	node = argv[1];
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "acquire %511s %31s", name, ttl) == 2) acquire(name, ttl);
		else if (sscanf(line, "release %511s", name) == 1) release(name);
		else printf("unsupported\n");
	}
}
