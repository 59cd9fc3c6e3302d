// Preloaded into a server: its wall clock is off by the nanoseconds that the file named by
// SNOWLEASE_TEST_CLOCK holds, which the tests change while it runs. The kernel's clock is
// not off, so the deadlines that the server gives to waits are shifted back.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static const int64_t second = 1000000000;
static const int64_t zero;
static const volatile int64_t *offset = &zero;
static __thread int64_t seen = INT64_MIN; // the offset of this thread's last reading

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("SNOWLEASE_TEST_CLOCK");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *p = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) abort(); // a clock that cannot be stepped must not pass for one
	offset = p;
}

// NEXT is the function that this library hides.
#define NEXT(name) \
	static __typeof__(name) *next; \
	if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static struct timespec plus(struct timespec t, int64_t ns) {
	ns += t.tv_sec * second + t.tv_nsec;
	if (ns < 0) ns = 0;
	return (struct timespec){.tv_sec = ns / second, .tv_nsec = ns % second};
}

// kernel returns a deadline by the kernel's clock. If the clock was stepped since the server
// computed the deadline, the wait is rather too short than too long by the step. A deadline
// by the monotonic clock, which counts from the start of the machine, stays as it is.
static const struct timespec *kernel(const struct timespec *deadline, struct timespec *t) {
	if (!deadline || deadline->tv_sec < INT64_C(1) << 30) return deadline;
	int64_t now = *offset;
	*t = plus(*deadline, -(seen > now ? seen : now));
	return t;
}

int clock_gettime(clockid_t id, struct timespec *t) {
	NEXT(clock_gettime);
	int failed = next(id, t);
	if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
	*t = plus(*t, seen = *offset);
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

int timespec_get(struct timespec *t, int base) {
	return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

// Waits until a time.

#define WAIT(name, params, ...) \
	int name params { \
		NEXT(name); \
		struct timespec t; \
		return next(__VA_ARGS__); \
	}

WAIT(pthread_cond_timedwait, (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict d), c, m, kernel(d, &t))
WAIT(pthread_cond_clockwait, (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t id, const struct timespec *restrict d), c, m, id, kernel(d, &t))
WAIT(pthread_mutex_timedlock, (pthread_mutex_t *restrict m, const struct timespec *restrict d), m, kernel(d, &t))
WAIT(pthread_mutex_clocklock, (pthread_mutex_t *restrict m, clockid_t id, const struct timespec *restrict d), m, id, kernel(d, &t))
WAIT(pthread_rwlock_timedrdlock, (pthread_rwlock_t *restrict l, const struct timespec *restrict d), l, kernel(d, &t))
WAIT(pthread_rwlock_timedwrlock, (pthread_rwlock_t *restrict l, const struct timespec *restrict d), l, kernel(d, &t))
WAIT(pthread_rwlock_clockrdlock, (pthread_rwlock_t *restrict l, clockid_t id, const struct timespec *restrict d), l, id, kernel(d, &t))
WAIT(pthread_rwlock_clockwrlock, (pthread_rwlock_t *restrict l, clockid_t id, const struct timespec *restrict d), l, id, kernel(d, &t))
WAIT(sem_timedwait, (sem_t *restrict s, const struct timespec *restrict d), s, kernel(d, &t))
WAIT(sem_clockwait, (sem_t *restrict s, clockid_t id, const struct timespec *restrict d), s, id, kernel(d, &t))

int clock_nanosleep(clockid_t id, int flags, const struct timespec *d, struct timespec *left) {
	NEXT(clock_nanosleep);
	struct timespec t;
	return next(id, flags, flags & TIMER_ABSTIME ? kernel(d, &t) : d, left);
}

// alarm_at returns the setting of a timer whose first alarm is at a time.
static struct itimerspec alarm_at(const struct itimerspec *s) {
	struct itimerspec shifted = *s;
	struct timespec t;
	shifted.it_value = *kernel(&s->it_value, &t);
	return shifted;
}

int timer_settime(timer_t id, int flags, const struct itimerspec *restrict s, struct itimerspec *restrict old) {
	NEXT(timer_settime);
	struct itimerspec at = flags & TIMER_ABSTIME ? alarm_at(s) : *s;
	return next(id, flags, &at, old);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *s, struct itimerspec *old) {
	NEXT(timerfd_settime);
	struct itimerspec at = flags & TFD_TIMER_ABSTIME ? alarm_at(s) : *s;
	return next(fd, flags, &at, old);
}

// The C++ library waits for futures by system calls of its own.
long syscall(long number, ...) {
	NEXT(syscall);
	long a[6];
	__builtin_va_list args;
	__builtin_va_start(args, number);
	for (int i = 0; i < 6; i++) a[i] = __builtin_va_arg(args, long);
	__builtin_va_end(args);
	struct timespec t;
	if (number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME)) a[3] = (long)kernel((const struct timespec *)a[3], &t);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
