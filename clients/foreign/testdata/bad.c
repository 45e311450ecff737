// Programs that are no locks, one for each value of BAD. Each begins to go wrong when it is asked for the lock.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXITS 1
#define FAILS 2
#define TRAPS 3
#define GROWS 4
#define SPINS 5
#define READS_CLOCK 6
#define FLOODS 7
#define ONE_LINE 8
#define NONSENSE 9
#define SILENT 10
#define MILLISECONDS 11
#define TALKS 12
#define ENDS_AFTER 13
#define IMPORTS 14
#define UNFLUSHED 15
#define RECURSES 16
#define GREETS 17

#if BAD == IMPORTS
__attribute__((import_module("env"), import_name("connect_tcp"))) int connect_tcp(int);
#endif

#if BAD == RECURSES
static int deep(int n) {
	volatile char frame[4096];
	frame[n % sizeof frame] = (char)n;
	return deep(n + 1) + frame[0];
}
#endif

int main(void) {
	char line[256];
#if BAD == GREETS
	puts("ready");
#endif
	while (fgets(line, sizeof line, stdin)) {
#if BAD == EXITS
		return 0;
#elif BAD == FAILS
		fputs("no such token\n", stderr);
		return 7;
#elif BAD == TRAPS
		__builtin_trap();
#elif BAD == GROWS
		for (;;) {
			char *volatile p = malloc(16 << 20);
			if (p == NULL) abort();
			memset(p, 1, 16 << 20);
		}
#elif BAD == SPINS
		for (volatile int i = 0;; i++);
#elif BAD == READS_CLOCK
		struct timespec t, end;
		clock_gettime(CLOCK_MONOTONIC, &end);
		do clock_gettime(CLOCK_MONOTONIC, &t);
		while (t.tv_sec <= end.tv_sec);
#elif BAD == FLOODS
		for (;;) puts("ok 0");
#elif BAD == ONE_LINE
		for (;;) putchar('x');
#elif BAD == NONSENSE
		puts("granted");
#elif BAD == SILENT
		fputs("granted\n", stderr);
#elif BAD == MILLISECONDS
		puts("ok 9990");
#elif BAD == TALKS
		printf("debug: asked %sok 0\n", line);
#elif BAD == ENDS_AFTER
		puts("ok 0");
		return 0;
#elif BAD == IMPORTS
		printf("ok %d\n", connect_tcp(1));
#elif BAD == UNFLUSHED
		printf("ok 0");
#elif BAD == RECURSES
		printf("ok %d\n", deep(0));
#else
		puts("refused");
#endif
	}
}
