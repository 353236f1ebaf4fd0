/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ndpstack._messages: what each message of Homa's costs in Python, written for CPython itself.
 *
 * cffi calls functions; what surrounds the calls, a dozen small objects and lookups a message, took
 * longer in the interpreter than all of the stack. These types are the bases of classes in Python,
 * which have the rest: everything that is rare, waits, or explains an error.
 *
 * DESIGN NOTES
 * 1. The stable ABI of Python 3.11 alone, so that one wheel serves all later versions.
 * 2. No signal handler runs in here but where Python code is called. What a message changes is
 *    changed in one piece between such calls; see the notes on the functions that call some.
 * 3. The functions of app.h belong to ndpstack._core, which hands over their addresses once for
 *    each handle (struct nd_app_verbs): a second copy of the stack would have a state of its own.
 */
#ifndef ND_BINDINGS_MESSAGES_H
#define ND_BINDINGS_MESSAGES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
/* It needs the one before. */
#include <structmember.h>

#include "app.h"

/* Something that a thread or a task waits for; ndpstack._waitable has the verbs. */
struct waitable {
	PyObject_HEAD
	PyObject *waiters; /* list of what is called when it may have become ready */
	PyObject *bell;    /* or NULL */
	PyObject *raised;  /* the waiter that did when it was called last, or NULL */
};

/* The event side of a handle: hands out batches, and knows whose each message is. */
struct inbox {
	PyObject_HEAD
	PyObject *app; /* keeps the handle */
	struct nd_app *handle;
	const struct nd_app_verbs *verbs;
	struct nd_event *events;              /* of the batch that is handed out */
	PyObject *by_call, *by_port, *by_rpc; /* dicts: key, port and id to what gets the message */
	PyObject *ended;                      /* NULL or why nothing will come any more */
	unsigned long long keys;              /* given so far */
	unsigned int batches;                 /* that are done with */
	unsigned int message_bytes_max;
	int at;                               /* the event that is handed out */
	unsigned int lent;                    /* messages that the core reads from where they lie */
	char began;                           /* ... and had begun when an interrupt came */
	char owned;                           /* its message is its target's */
	char busy;                            /* a thread hands out, which may run Python code */
};

/* A request under way. */
struct call {
	struct waitable waitable;
	struct inbox *inbox;
	PyObject *view, *failure; /* how it ended, or NULL both */
	PyObject *owner, *peer, *port, *until;
	PyObject *future, *loop; /* of the task that awaits it, or NULL both */
	unsigned long long id, key;
	int buffer;
};

/* The requests of a port that wait for the application. */
struct service {
	struct waitable waitable;
	struct inbox *inbox;
	PyObject *socket;
	PyTypeObject *make; /* of the requests that are made */
	PyObject *queue;    /* a deque of them */
	char closed;
};

/* A request that a server got. */
struct request {
	struct waitable waitable;
	PyObject *weak;
	struct service *service;
	PyObject *data;
	PyObject *number; /* its id, which is forgotten also where there is no memory */
	unsigned long long id;
	unsigned int peer;
	int failed; /* errno of why its client has given up */
	char done;
};

/* Gives a message back when nothing refers to its bytes any more. */
struct lease {
	PyObject_HEAD
	PyObject *app;
	struct nd_app *handle;
	const struct nd_app_verbs *verbs;
	void *payload;
	Py_ssize_t bytes;
	unsigned long long id, message;
	uint8_t protocol;
	char held; /* not before the view belongs to an owner */
};

extern PyTypeObject *waitable_type, *inbox_type, *call_type, *service_type, *request_type,
	*lease_type;

/* Each makes its types and adds them to the module; -1 with an exception. */
int future_add(PyObject *module);
int waitable_add(PyObject *module);
int lease_add(PyObject *module);
int inbox_add(PyObject *module);
int call_add(PyObject *module);
int request_add(PyObject *module);

/* A type of this module, added to it; NULL with an exception. */
PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base);

/* What tp_dealloc ends with. */
void free_object(PyObject *self);

/* ---- waiting ---- */

PyObject *waitable_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
int waitable_traverse(PyObject *self, visitproc visit, void *arg);
int waitable_clear(PyObject *self);

/* Calls all who wait, if any do; -1 with an exception, which may be one of theirs. */
int waitable_wake(struct waitable *waitable);

/* Lets the task go on that awaits a future; from any thread. -1 with an exception. */
int complete(PyObject *loop, PyObject *future);
/* Around the handing out of a batch of events, in one thread. */
void batch_begin(void);
void batch_end(void);

/* ---- messages ---- */

/*
 * Who lends the bytes to the core, or NULL: they are to be copied. A reference that the inbox has
 * from then on, or the caller where they were not sent after all.
 */
PyObject *lend(struct inbox *inbox, PyObject *data, Py_ssize_t bytes);
void unlend(struct inbox *inbox, PyObject *lender);

/*
 * The bytes of a received message as a memoryview: a copy, or lent. What holds a loan until it has
 * an owner is put into *loan, or NULL: a reference of the caller's.
 */
PyObject *view_of(struct inbox *inbox, const struct nd_event *event, struct lease **loan);

/* The view belongs to an owner now. */
void keep(struct inbox *inbox, struct lease *loan);

/* No message with this key is for anybody any more. -1 with an exception. */
int forget(PyObject *targets, PyObject *key);

/*
 * Hands a message to its target, which may have it already. An exception is one of those who were
 * woken, and the same event comes again.
 */
int call_arrived(struct call *call, struct inbox *inbox, const struct nd_event *event);
int service_arrived(struct service *service, struct inbox *inbox, const struct nd_event *event);

#endif
