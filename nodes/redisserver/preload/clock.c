// A wall clock that can be set while the process runs. Loaded before the C library (LD_PRELOAD), it takes the place of what
// the process calls to learn the time of day; the monotonic clock stays as it is.
//
// How far the clock is ahead of that of the machine is read from a file that LOCKSTEP_CLOCK names, and that is mapped into
// memory. Whoever sets the clock makes seq odd before he changes the rest, and even again afterwards.

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct clock {
	uint64_t seq;
	int64_t since; // by the clock of the machine, in nanoseconds since 1970
	int64_t ahead; // then
	double drift;  // what it gains since, in nanoseconds per nanosecond
	double slew;   // and as much again
	int64_t until; // up to here
};

static const struct clock *own;

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("LOCKSTEP_CLOCK");
	if (name == NULL)
		return;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *own, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(112); // rather than with a clock that cannot be set
	close(fd);
	own = at;
}

static int64_t now(clockid_t id)
{
	struct timespec t;
	syscall(SYS_clock_gettime, id, &t);
	int64_t real = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
	if (own == NULL)
		return real;
	for (;;) {
		uint64_t seq = __atomic_load_n(&own->seq, __ATOMIC_ACQUIRE);
		struct clock c = *own;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (seq % 2 == 1 || seq != __atomic_load_n(&own->seq, __ATOMIC_RELAXED))
			continue;
		int64_t slewed = (real < c.until ? real : c.until) - c.since;
		return real + c.ahead + (int64_t)((double)(real - c.since) * c.drift) + (int64_t)((double)slewed * c.slew);
	}
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	int64_t at = now(CLOCK_REALTIME);
	t->tv_sec = at / 1000000000;
	t->tv_usec = at % 1000000000 / 1000;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
		return syscall(SYS_clock_gettime, id, t);
	int64_t at = now(id);
	t->tv_sec = at / 1000000000;
	t->tv_nsec = at % 1000000000;
	return 0;
}

time_t time(time_t *t)
{
	time_t at = now(CLOCK_REALTIME) / 1000000000;
	if (t != NULL)
		*t = at;
	return at;
}
