// A program that answers with the name of the lock that it is asked for, in which _ stands for a space. In the name ANSWER|OTHER,
// OTHER is for requests other than acquire. Some names ask for something else.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((import_module("lockstep"), import_name("dial"))) int dial(const char *addr, size_t len);

static long long read_clock(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char *argv[]) {
	char line[256], op[16], name[200];
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %199s", op, name) == 2) {
		char *answer = name, *other = strchr(name, '|');
		if (other != NULL) {
			*other = 0;
			if (strcmp(op, "acquire") != 0) answer = other + 1;
		}
		for (char *c = answer; *c; c++) if (*c == '_') *c = ' ';
		if (strcmp(answer, "wall") == 0) {
			printf("error %lld\n", read_clock(CLOCK_REALTIME));
		} else if (strcmp(answer, "sleep") == 0) {
			long long start = read_clock(CLOCK_MONOTONIC);
			nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
			printf("error %lld\n", read_clock(CLOCK_MONOTONIC) - start);
		} else if (strcmp(answer, "random") == 0) {
			uint64_t n;
			getentropy(&n, sizeof n);
			printf("error %llx\n", (unsigned long long)n);
		} else if (strcmp(answer, "arguments") == 0) {
			printf("error");
			for (int i = 0; i < argc; i++) printf(" %s", argv[i]);
			printf("\n");
		} else if (strcmp(answer, "echo") == 0) {
			printf("error %s", line);
		} else if (strncmp(answer, "dial", 4) == 0) { // without waiting for the connection, or for the reply
			char reply[8] = "";
			int fd = dial(argv[answer[4] - '0'], strlen(argv[answer[4] - '0']));
			if (write(fd, "hello", 5) != 5) printf("error write: %s\n", strerror(errno));
			else if (read(fd, reply, 7) < 0) printf("error read: %s\n", strerror(errno));
			else printf("error %s, %s\n", reply, fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && read(fd, reply, 7) < 0 ? strerror(errno) : "waited");
			close(fd);
		} else if (strcmp(answer, "minute") == 0) {
			printf("ok %lld\n", read_clock(CLOCK_MONOTONIC) + 60000000000);
		} else {
			printf("%s\n", answer);
		}
	}
}
