// Waits a fifth of a second in each of the ways that servers have, by deadlines. Prints how
// many milliseconds each wait lasted by the monotonic clock.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static struct timespec in(clockid_t id) {
	struct timespec t;
	clock_gettime(id, &t);
	t.tv_nsec += 200000000;
	if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
	return t;
}

static struct timespec began;

static void begin(void) { clock_gettime(CLOCK_MONOTONIC, &began); }

static void end(const char *name) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%s %ld\n", name, (t.tv_sec - began.tv_sec) * 1000 + (t.tv_nsec - began.tv_nsec) / 1000000);
	fflush(stdout);
}

#define TRY(name, id, wait) do { \
	struct timespec t = in(id); \
	begin(); \
	wait; \
	end(name); \
} while (0)

int main(void) {
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER, mono;
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&mono, &attr);
	pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
	pthread_rwlock_rdlock(&shared);
	sem_t s;
	sem_init(&s, 0, 0);
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&taken);

	TRY("pthread_cond_timedwait", CLOCK_REALTIME, pthread_cond_timedwait(&c, &m, &t));
	TRY("pthread_cond_timedwait,monotonic", CLOCK_MONOTONIC, pthread_cond_timedwait(&mono, &m, &t));
	TRY("pthread_cond_clockwait", CLOCK_REALTIME, pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t));
	TRY("pthread_cond_clockwait,monotonic", CLOCK_MONOTONIC, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t));
	TRY("pthread_mutex_timedlock", CLOCK_REALTIME, pthread_mutex_timedlock(&taken, &t));
	TRY("pthread_mutex_clocklock", CLOCK_REALTIME, pthread_mutex_clocklock(&taken, CLOCK_REALTIME, &t));
	TRY("pthread_rwlock_timedwrlock", CLOCK_REALTIME, pthread_rwlock_timedwrlock(&shared, &t));
	TRY("pthread_rwlock_clockwrlock", CLOCK_REALTIME, pthread_rwlock_clockwrlock(&shared, CLOCK_REALTIME, &t));
	TRY("sem_timedwait", CLOCK_REALTIME, sem_timedwait(&s, &t));
	TRY("sem_clockwait", CLOCK_REALTIME, sem_clockwait(&s, CLOCK_REALTIME, &t));
	TRY("clock_nanosleep", CLOCK_REALTIME, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL));
	uint32_t word = 0;
	TRY("futex", CLOCK_REALTIME, syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &t, NULL, FUTEX_BITSET_MATCH_ANY));
	uint64_t alarms;
	int fd = timerfd_create(CLOCK_REALTIME, 0);
	TRY("timerfd_settime", CLOCK_REALTIME, {
		struct itimerspec at = {.it_value = t};
		timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
		if (read(fd, &alarms, sizeof alarms) < 0) perror("read");
	});
	return 0;
}
