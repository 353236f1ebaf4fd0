// SPDX-License-Identifier: Apache-2.0
/* The event side of a handle: hands out batches, and knows whose each message is. */
#include "messages.h"

PyTypeObject *inbox_type;

static PyObject *give_name;

/* ---- what is sent from where it lies ---- */

/* Only what nobody can change: it may be sent again, also when its sender has stopped waiting. */
PyObject *lend(struct inbox *inbox, PyObject *data, Py_ssize_t bytes)
{
	if (bytes < (Py_ssize_t)ND_APP_LEND_BYTES || !PyBytes_CheckExact(data) ||
	    !inbox->handle->lends)
		return NULL;
	inbox->lent++;
	return Py_NewRef(data);
}

void unlend(struct inbox *inbox, PyObject *lender)
{
	inbox->lent -= lender != NULL;
	Py_XDECREF(lender);
}

static void take_back(struct inbox *self)
{
	PyObject *lender;

	while (self->lent && (lender = self->verbs->take_back(self->handle)))
		unlend(self, lender);
}

static PyObject *let_go(PyObject *object, PyObject *unused)
{
	(void)unused;
	take_back((struct inbox *)object);
	return Py_NewRef(Py_None);
}

/* ---- life ---- */

static int inbox_init(PyObject *object, PyObject *args, PyObject *keywords)
{
	struct inbox *self = (struct inbox *)object;
	unsigned long long handle, verbs, events;
	PyObject *app;

	(void)keywords;
	if (!PyArg_ParseTuple(args, "OKKK:Inbox", &app, &handle, &verbs, &events))
		return -1;
	self->app = Py_NewRef(app);
	self->handle = (struct nd_app *)(uintptr_t)handle;
	self->verbs = (const struct nd_app_verbs *)(uintptr_t)verbs;
	self->events = (struct nd_event *)(uintptr_t)events;
	self->by_call = PyDict_New();
	self->by_port = PyDict_New();
	self->by_rpc = PyDict_New();
	return self->by_call && self->by_port && self->by_rpc ? 0 : -1;
}

static int inbox_traverse(PyObject *object, visitproc visit, void *arg)
{
	struct inbox *self = (struct inbox *)object;

	/* Not the handle, which refers to nobody: it is to outlive this, also among garbage. */
	Py_VISIT(Py_TYPE(object));
	Py_VISIT(self->by_call);
	Py_VISIT(self->by_port);
	Py_VISIT(self->by_rpc);
	Py_VISIT(self->ended);
	return 0;
}

static int inbox_clear(PyObject *object)
{
	struct inbox *self = (struct inbox *)object;

	/* The others are asked by finalisers of what they hold, and are cleared as dicts. */
	Py_CLEAR(self->ended);
	return 0;
}

static void inbox_dealloc(PyObject *object)
{
	struct inbox *self = (struct inbox *)object;

	PyObject_GC_UnTrack(object);
	if (self->lent)
		self->verbs->close(self->handle, self->batches); /* nobody did */
	take_back(self);
	inbox_clear(object);
	Py_CLEAR(self->by_call);
	Py_CLEAR(self->by_port);
	Py_CLEAR(self->by_rpc);
	Py_CLEAR(self->app);
	free_object(object);
}

/* ---- handing out ---- */

/* Who gets a Homa message: a new reference, or NULL, with an exception or without. */
static PyObject *target_of(PyObject *targets, unsigned long long key)
{
	PyObject *number = PyLong_FromUnsignedLongLong(key), *target;

	if (!number)
		return NULL;
	target = PyDict_GetItemWithError(targets, number);
	Py_DECREF(number);
	return Py_XNewRef(target);
}

int forget(PyObject *targets, PyObject *key)
{
	int code = PyDict_DelItem(targets, key);

	if (code < 0 && PyErr_ExceptionMatches(PyExc_KeyError)) {
		PyErr_Clear();
		return 0;
	}
	return code;
}

/* What is no message of Homa's is Python's. */
static int give(struct inbox *self)
{
	PyObject *result, *at = PyLong_FromLong(self->at);
	char again = self->began;

	if (!at)
		return -1;
	self->began = true;
	result = PyObject_CallMethodObjArgs((PyObject *)self, give_name, at,
					    again ? Py_True : Py_False, NULL);
	Py_DECREF(at);
	if (!result)
		return -1;
	Py_DECREF(result);
	self->began = false;
	return 0;
}

static int hand_out_one(struct inbox *self, struct nd_event *event)
{
	bool answers = event->kind == ND_EVENT_RESPONSE;
	PyObject *target;
	int code;

	if (!answers && event->kind != ND_EVENT_REQUEST)
		return give(self);
	target = target_of(answers ? self->by_call : self->by_port,
			   answers ? event->cookie : event->port);
	if (!target) {
		if (PyErr_Occurred())
			return -1;
		if (!self->owned)
			self->verbs->drop(self->handle, event);
		return 0;
	}
	if (answers)
		code = call_arrived((struct call *)target, self, event);
	else
		code = service_arrived((struct service *)target, self, event);
	Py_DECREF(target);
	return code;
}

/* An exception may end it at any event, and the next call goes on with that one. */
static int hand_out_rest(struct inbox *self)
{
	while (self->at < self->handle->last_count) {
		if (hand_out_one(self, &self->events[self->at]) < 0)
			return -1;
		self->owned = false;
		self->at++;
	}
	self->at = 0;
	self->batches++;
	return 0;
}

/*
 * A signal handler that waited for the stack itself may have handed out the batch before its taker
 * came to it. Between the events of one, nobody can wait: it would have to be done with first.
 */
static PyObject *hand_out(PyObject *object, PyObject *unused)
{
	struct inbox *self = (struct inbox *)object;
	int code;

	(void)unused;
	take_back(self);
	if (self->busy) {
		PyErr_SetString(PyExc_RuntimeError,
				"this thread is handing out the stack's events: a waiter, destructor or "
				"signal handler cannot wait for more; leave that to a thread or a task");
		return NULL;
	}
	if (self->batches == self->handle->batches)
		return Py_NewRef(Py_None);
	self->busy = true;
	batch_begin();
	code = hand_out_rest(self);
	batch_end();
	self->busy = false;
	return code < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *next_key(PyObject *object, PyObject *unused)
{
	struct inbox *self = (struct inbox *)object;

	(void)unused;
	/* The bit above is in keys that the handle makes. */
	return PyLong_FromUnsignedLongLong(++self->keys & (ND_APP_KEY_OWN - 1));
}

static PyMemberDef inbox_members[] = {
	{ "app", T_OBJECT, offsetof(struct inbox, app), READONLY, "The handle." },
	{ "by_call", T_OBJECT, offsetof(struct inbox, by_call), READONLY, "Calls, by their keys." },
	{ "by_port", T_OBJECT, offsetof(struct inbox, by_port), READONLY, "Services, by port." },
	{ "by_rpc", T_OBJECT, offsetof(struct inbox, by_rpc), READONLY,
	  "Requests that are served here and have no reply yet; others hold them." },
	{ "ended", T_OBJECT, offsetof(struct inbox, ended), 0,
	  "Why nothing will come any more, as a number and a text." },
	{ "batches", T_UINT, offsetof(struct inbox, batches), 0,
	  "Batches that are done with; until then they come again." },
	{ "message_bytes_max", T_UINT, offsetof(struct inbox, message_bytes_max), 0,
	  "Bytes of the longest message that can be sent." },
	{ "owned", T_BOOL, offsetof(struct inbox, owned), 0,
	  "The message that is handed out is its target's, who says so here." },
	{ "at", T_INT, offsetof(struct inbox, at), READONLY, "The event that is handed out." },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef inbox_methods[] = {
	{ "hand_out", hand_out, METH_NOARGS,
	  "hand_out($self, /)\n--\n\nGives each event of the batch to its target, once." },
	{ "let_go", let_go, METH_NOARGS,
	  "let_go($self, /)\n--\n\nForgets the messages that the core has read from where they lie." },
	{ "next_key", next_key, METH_NOARGS,
	  "next_key($self, /)\n--\n\nA key that events can carry, not used yet." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot inbox_slots[] = {
	{ Py_tp_doc, "Inbox(app, handle, verbs, events)\n--\n\n"
		     "The event side of a handle: hands out batches." },
	{ Py_tp_init, inbox_init },
	{ Py_tp_dealloc, inbox_dealloc },
	{ Py_tp_traverse, inbox_traverse },
	{ Py_tp_clear, inbox_clear },
	{ Py_tp_members, inbox_members },
	{ Py_tp_methods, inbox_methods },
	{ 0, NULL },
};

static PyType_Spec inbox_spec = {
	.name = "ndpstack._messages.Inbox",
	.basicsize = sizeof(struct inbox),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = inbox_slots,
};

int inbox_add(PyObject *module)
{
	give_name = PyUnicode_InternFromString("give");
	inbox_type = type_add(module, &inbox_spec, NULL);
	return give_name && inbox_type ? 0 : -1;
}
