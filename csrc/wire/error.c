// SPDX-License-Identifier: Apache-2.0
/* Names and texts of the reasons why frames are dropped. */
#include "wire/error.h"

ND_COUNTERS_TABLE(nd_wire_counters, "wire", ND_WIRE_COUNTERS);
