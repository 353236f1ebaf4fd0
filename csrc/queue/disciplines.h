/* SPDX-License-Identifier: Apache-2.0 */
/* Every discipline's table and config in one include. */
#ifndef ND_QUEUE_DISCIPLINES_H
#define ND_QUEUE_DISCIPLINES_H

#include "queue/cut_payload.h"
#include "queue/droptail.h"
#include "queue/ecn.h"
#include "queue/fair.h"
#include "queue/ndp.h"
#include "queue/pfabric.h"
#include "queue/strict.h"

#endif
