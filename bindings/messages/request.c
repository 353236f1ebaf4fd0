// SPDX-License-Identifier: Apache-2.0
/* Requests that a server got, how they wait, and their replies. */
#include "messages.h"

#include <errno.h>

PyTypeObject *service_type, *request_type;

static PyObject *append_name, *popleft_name;

/* ---- Service ---- */

static int service_init(PyObject *object, PyObject *args, PyObject *keywords)
{
	struct service *self = (struct service *)object;
	PyObject *inbox, *socket, *make, *queue;

	(void)keywords;
	if (!PyArg_ParseTuple(args, "O!OO!O:Service", inbox_type, &inbox, &socket, &PyType_Type,
			      &make, &queue))
		return -1;
	if (!PyType_IsSubtype((PyTypeObject *)make, request_type)) {
		PyErr_SetString(PyExc_TypeError, "Service() makes requests");
		return -1;
	}
	self->inbox = (struct inbox *)Py_NewRef(inbox);
	self->socket = Py_NewRef(socket);
	self->make = (PyTypeObject *)Py_NewRef(make);
	self->queue = Py_NewRef(queue);
	return 0;
}

static int service_traverse(PyObject *object, visitproc visit, void *arg)
{
	struct service *self = (struct service *)object;

	Py_VISIT(self->inbox);
	Py_VISIT(self->socket);
	Py_VISIT(self->make);
	Py_VISIT(self->queue);
	return waitable_traverse(object, visit, arg);
}

static void service_dealloc(PyObject *object)
{
	struct service *self = (struct service *)object;

	PyObject_GC_UnTrack(object);
	waitable_clear(object);
	Py_CLEAR(self->socket);
	Py_CLEAR(self->queue);
	Py_CLEAR(self->make);
	Py_CLEAR(self->inbox);
	free_object(object);
}

/* A request that is not handed out yet; takes over the reference to the data. */
static struct request *make_request(struct service *service, unsigned int peer,
				    unsigned long long id, PyObject *data)
{
	struct request *self = (struct request *)waitable_new(service->make, NULL, NULL);

	if (!self) {
		Py_DECREF(data);
		return NULL;
	}
	self->done = true;
	self->service = (struct service *)Py_NewRef((PyObject *)service);
	self->data = data;
	self->id = id;
	self->peer = peer;
	self->number = PyLong_FromUnsignedLongLong(id);
	if (!self->number)
		Py_CLEAR(self);
	return self;
}

static PyObject *make(PyObject *object, PyObject *args)
{
	unsigned long long id;
	unsigned int peer;
	PyObject *data;

	if (!PyArg_ParseTuple(args, "IKO:made", &peer, &id, &data))
		return NULL;
	return (PyObject *)make_request((struct service *)object, peer, id, Py_NewRef(data));
}

/* The dispatcher knows it, only as long as others do; and it waits for the application. */
static int enqueue(struct service *service, struct request *request)
{
	PyObject *reference = PyWeakref_NewRef((PyObject *)request, NULL), *result = NULL;

	if (reference &&
	    PyDict_SetItem(service->inbox->by_rpc, request->number, reference) == 0)
		result = PyObject_CallMethodObjArgs(service->queue, append_name, request, NULL);
	Py_XDECREF(reference);
	Py_XDECREF(result);
	return result ? 0 : -1;
}

int service_arrived(struct service *self, struct inbox *inbox, const struct nd_event *event)
{
	struct request *request;
	struct lease *loan;
	PyObject *view;
	int code;

	if (!inbox->owned) {
		view = view_of(inbox, event, &loan);
		if (!view)
			return -1;
		request = make_request(self, event->peer, event->id, view);
		code = request ? enqueue(self, request) : -1;
		if (code == 0) {
			request->done = false;
			keep(inbox, loan);
		} else {
			Py_XDECREF((PyObject *)loan);
		}
		Py_XDECREF((PyObject *)request);
		if (code < 0)
			return -1;
	}
	return waitable_wake(&self->waitable);
}

/* The next request whose client has not given up. */
static PyObject *take(PyObject *object, PyObject *unused)
{
	struct service *self = (struct service *)object;
	PyObject *request;

	(void)unused;
	while (PyObject_Size(self->queue) > 0) {
		request = PyObject_CallMethodObjArgs(self->queue, popleft_name, NULL);
		if (!request || !((struct request *)request)->failed)
			return request;
		Py_DECREF(request);
	}
	return Py_NewRef(Py_None);
}

static PyMemberDef service_members[] = {
	{ "_dispatcher", T_OBJECT_EX, offsetof(struct service, inbox), READONLY, NULL },
	{ "_queue", T_OBJECT_EX, offsetof(struct service, queue), READONLY, NULL },
	{ "_closed", T_BOOL, offsetof(struct service, closed), 0, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef service_methods[] = {
	{ "__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL },
	{ "take", take, METH_NOARGS,
	  "take($self, /)\n--\n\n"
	  "The next request whose client has not given up, or None." },
	{ "made", make, METH_VARARGS,
	  "made($self, peer, identity, data, /)\n--\n\n"
	  "A request for the application, to which there is no reply yet." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot service_slots[] = {
	{ Py_tp_doc, "Service(inbox, socket, make, queue)\n--\n\n"
		     "The requests of a port that wait for the application." },
	{ Py_tp_init, service_init },
	{ Py_tp_dealloc, service_dealloc },
	{ Py_tp_traverse, service_traverse },
	{ Py_tp_clear, waitable_clear },
	{ Py_tp_members, service_members },
	{ Py_tp_methods, service_methods },
	{ 0, NULL },
};

static PyType_Spec service_spec = {
	.name = "ndpstack._messages.Service",
	.basicsize = sizeof(struct service),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = service_slots,
};

/* ---- Request ---- */

static PyObject *request_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)type, (void)args, (void)keywords;
	PyErr_SetString(PyExc_TypeError, "sockets make requests: HomaSocket.recv()");
	return NULL;
}

static int request_traverse(PyObject *object, visitproc visit, void *arg)
{
	struct request *self = (struct request *)object;

	Py_VISIT(self->service);
	Py_VISIT(self->data);
	return waitable_traverse(object, visit, arg);
}

static int request_clear(PyObject *object)
{
	Py_CLEAR(((struct request *)object)->data);
	return waitable_clear(object);
}

/* Ends it without a reply, at both ends. */
static int end_request(struct request *self)
{
	struct inbox *inbox = self->service->inbox;

	Py_BEGIN_ALLOW_THREADS
	inbox->verbs->tell(inbox->handle, ND_PROTO_HOMA, ND_COMMAND_CANCEL, 0, self->id, 0, 0, 0);
	Py_END_ALLOW_THREADS
	return forget(inbox->by_rpc, self->number);
}

static PyObject *end(PyObject *object, PyObject *unused)
{
	(void)unused;
	return end_request((struct request *)object) < 0 ? NULL : Py_NewRef(Py_None);
}

/* Nobody can reply any more: its client must not wait in vain. */
static void request_finalize(PyObject *object)
{
	struct request *self = (struct request *)object;
	PyObject *type, *value, *traceback;

	if (self->done || !self->service) /* There was no memory to make it. */
		return;
	self->done = true;
	PyErr_Fetch(&type, &value, &traceback);
	if (end_request(self) < 0)
		PyErr_WriteUnraisable(object);
	PyErr_Restore(type, value, traceback);
}

static void request_dealloc(PyObject *object)
{
	struct request *self = (struct request *)object;

	PyObject_GC_UnTrack(object);
	if (self->weak)
		PyObject_ClearWeakRefs(object);
	request_clear(object);
	Py_CLEAR(self->number);
	Py_CLEAR(self->service);
	free_object(object);
}

/*
 * Sends the reply. It counts as sent while it is handed over, for other threads and for a destructor.
 */
static int hand_over(struct request *self, const Py_buffer *view, PyObject *data, bool later)
{
	struct inbox *inbox = self->service->inbox;
	PyObject *lender = lend(inbox, data, view->len);
	int code;

	self->done = true;
	Py_BEGIN_ALLOW_THREADS
	code = inbox->verbs->reply(inbox->handle, self->id, view->buf, (uint32_t)view->len, later,
				   lender);
	Py_END_ALLOW_THREADS
	self->done = code >= 0;
	if (code < 0)
		unlend(inbox, lender);
	return code;
}

static PyObject *answer(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
	struct request *self = (struct request *)object;
	const struct inbox *inbox = self->service->inbox;
	int later, code = -EMSGSIZE;
	Py_buffer view;

	if (count != 2) {
		PyErr_SetString(PyExc_TypeError, "answer() takes 2 arguments");
		return NULL;
	}
	later = PyObject_IsTrue(args[1]);
	if (later < 0 || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
		return NULL;
	/* Not before: the data may be of a type whose code runs there, and replies, too. */
	if (self->done || self->failed || self->service->closed || inbox->ended)
		code = -EBADF;
	else if (view.len <= (Py_ssize_t)inbox->message_bytes_max)
		code = hand_over(self, &view, args[0], later);
	PyBuffer_Release(&view);
	if (code >= 0 && forget(inbox->by_rpc, self->number) < 0)
		return NULL;
	/* Not the buffer's number, for which there may be no memory after the reply was sent. */
	return PyLong_FromLong(code < 0 ? code : 0);
}

static PyObject *socket_of(PyObject *object, void *unused)
{
	(void)unused;
	return Py_NewRef(((struct request *)object)->service->socket);
}

static PyGetSetDef request_properties[] = {
	{ "_socket", socket_of, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef request_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct request, weak), READONLY, NULL },
	{ "_peer", T_UINT, offsetof(struct request, peer), READONLY, NULL },
	{ "id", T_ULONGLONG, offsetof(struct request, id), READONLY, "The RPC's id on this host." },
	{ "data", T_OBJECT_EX, offsetof(struct request, data), READONLY,
	  "The request's bytes, valid as long as anything refers to them." },
	{ "failed", T_INT, offsetof(struct request, failed), 0,
	  "Why the client has given up, as an errno; 0: it has not." },
	{ "done", T_BOOL, offsetof(struct request, done), 0,
	  "There is nothing to reply to: not yet, or no more." },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef request_methods[] = {
	{ "answer", (PyCFunction)(void (*)(void))answer, METH_FASTCALL,
	  "answer($self, data, later, /)\n--\n\n"
	  "Sends the reply if there is room, and one is wanted; a negative error number if not." },
	{ "end", end, METH_NOARGS, "end($self, /)\n--\n\nEnds it without a reply, at both ends." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot request_slots[] = {
	{ Py_tp_doc, "A request that a server got." },
	{ Py_tp_new, request_new },
	{ Py_tp_dealloc, request_dealloc },
	{ Py_tp_finalize, request_finalize },
	{ Py_tp_traverse, request_traverse },
	{ Py_tp_clear, request_clear },
	{ Py_tp_members, request_members },
	{ Py_tp_getset, request_properties },
	{ Py_tp_methods, request_methods },
	{ 0, NULL },
};

static PyType_Spec request_spec = {
	.name = "ndpstack._messages.Request",
	.basicsize = sizeof(struct request),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = request_slots,
};

int request_add(PyObject *module)
{
	append_name = PyUnicode_InternFromString("append");
	popleft_name = PyUnicode_InternFromString("popleft");
	service_type = type_add(module, &service_spec, waitable_type);
	request_type = type_add(module, &request_spec, waitable_type);
	return append_name && popleft_name && service_type && request_type ? 0 : -1;
}
