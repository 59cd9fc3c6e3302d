// Preloaded into a server: its wall clock is off by the nanoseconds that the file
// named by SNOWLEASE_TEST_CLOCK holds, which the tests change while it runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const int64_t zero;
static const volatile int64_t *offset = &zero;
static int (*next)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("SNOWLEASE_TEST_CLOCK");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *p = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) abort(); // a clock that cannot be stepped must not pass for one
	offset = p;
}

int clock_gettime(clockid_t id, struct timespec *t) {
	if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int failed = next(id, t);
	if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
	int64_t ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec + *offset;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	(void)zone;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}
