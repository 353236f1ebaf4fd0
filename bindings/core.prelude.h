/* Headers behind core.cdef.h. */
#include "base/counters.h"
#include "base/error.h"
#include "queue/queue.h"
#include "rig.h"
#include "transport/homa.h"
#include "wire/packet.h"
