/* Headers behind core.cdef.h. */
#include "base/counters.h"
#include "queue/queue.h"
