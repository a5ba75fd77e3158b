/* Preloaded into control plane and supervisors: the wall clock is moved by the seconds in the file CHAOS_CLOCK.
 *
 * Every other clock stays true, as when somebody sets the clock of a machine. libfaketime is not used: where it leaves the
 * monotonic clock alone it breaks time.sleep() of Python 3.11, and processes that share its semaphore hang when one of
 * them is stopped or killed, which is what trials do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*true_clock)(clockid_t, struct timespec *);
static const volatile int64_t *offset_s;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *place = mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (place != MAP_FAILED)
        offset_s = place;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!true_clock)
        *(void **)&true_clock = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = true_clock(clock, now);
    if (!failed && offset_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *offset_s;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &found))
        return -1;
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *place) {
    struct timespec found;
    if (clock_gettime(CLOCK_REALTIME, &found))
        return (time_t)-1;
    if (place)
        *place = found.tv_sec;
    return found.tv_sec;
}
