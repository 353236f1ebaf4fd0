// SPDX-License-Identifier: Apache-2.0
/* What tasks await, and how they are let go on. */
#include "messages.h"

static PyObject *done_name, *set_result_name, *is_closed_name, *threadsafe_name, *create_name;
static PyObject *is_running_name, *settle_function, *running_loop_function;

/*
 * Which loop runs in this thread is not asked for each future: asyncio asks the kernel each time whether
 * the process has forked. Loops are compared here and never used.
 */
static _Thread_local struct {
	bool open;       /* events are handed out, and no loop begins or ends meanwhile */
	bool known;      /* ... and this one runs, or none */
	PyObject *loop;
} batch;

/* Where a task was seen last that asked for a future. */
static struct {
	PyObject *loop;
	unsigned long thread;
} seen;

/* True for an error that says no more than that a future has a result; it is forgotten. */
static bool was_done(PyObject *future)
{
	PyObject *type, *value, *traceback, *exceptions, *error, *done;
	bool is_done = false;

	PyErr_Fetch(&type, &value, &traceback);
	exceptions = PyImport_ImportModule("asyncio.exceptions");
	error = exceptions ? PyObject_GetAttrString(exceptions, "InvalidStateError") : NULL;
	Py_XDECREF(exceptions);
	if (error && PyErr_GivenExceptionMatches(type, error)) {
		done = PyObject_CallMethodObjArgs(future, done_name, NULL);
		is_done = done && PyObject_IsTrue(done) == 1;
		Py_XDECREF(done);
	}
	Py_XDECREF(error);
	PyErr_Restore(type, value, traceback); /* also drops an error of the question */
	if (is_done)
		PyErr_Clear();
	return is_done;
}

/* Sets a future's result if it has none yet, in its loop's thread. */
static PyObject *settle(PyObject *module, PyObject *future)
{
	PyObject *result = PyObject_CallMethodObjArgs(future, set_result_name, Py_None, NULL);

	(void)module;
	/* Hardly any is done: asking each before takes longer. */
	if (!result && was_done(future))
		return Py_NewRef(Py_None);
	return result;
}

/* True for an error that says no more than that the loop is closed; it is forgotten. */
static bool was_closed(PyObject *loop)
{
	PyObject *type, *value, *traceback, *closed;
	bool is_closed;

	if (!PyErr_ExceptionMatches(PyExc_RuntimeError))
		return false;
	PyErr_Fetch(&type, &value, &traceback);
	closed = PyObject_CallMethodObjArgs(loop, is_closed_name, NULL);
	is_closed = closed && PyObject_IsTrue(closed) == 1;
	Py_XDECREF(closed);
	PyErr_Restore(type, value, traceback); /* also drops an error of the question */
	if (is_closed)
		PyErr_Clear();
	return is_closed;
}

/* The loop that runs in this thread, or None. asyncio is imported by whoever has a loop. */
static PyObject *running_loop(void)
{
	PyObject *asyncio;

	if (!running_loop_function) {
		asyncio = PyImport_ImportModule("asyncio");
		if (!asyncio)
			return NULL;
		running_loop_function = PyObject_GetAttrString(asyncio, "_get_running_loop");
		Py_DECREF(asyncio);
		if (!running_loop_function)
			return NULL;
	}
	return PyObject_CallNoArgs(running_loop_function);
}

/* 1 when the loop runs in this thread, 0 when another one does or none, -1 for an error. */
static int runs_here(PyObject *loop)
{
	PyObject *running;

	if (batch.known)
		return batch.loop == loop;
	running = running_loop();
	Py_XDECREF(running);
	if (!running)
		return -1;
	batch.known = batch.open;
	batch.loop = running;
	return running == loop;
}

void batch_begin(void)
{
	batch.open = true;
}

void batch_end(void)
{
	batch.open = batch.known = false;
}

int complete(PyObject *loop, PyObject *future)
{
	int here = runs_here(loop);
	PyObject *result;

	if (here < 0)
		return -1;
	/* Not by the thread it was seen in: a loop may go on in another one. */
	if (here)
		result = settle(NULL, future);
	else
		result = PyObject_CallMethodObjArgs(loop, threadsafe_name, settle_function, future,
						    NULL);
	if (!result)
		return was_closed(loop) ? 0 : -1;
	Py_DECREF(result);
	return 0;
}

static PyObject *complete_of(PyObject *module, PyObject *args)
{
	PyObject *loop, *future;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO:complete", &loop, &future))
		return NULL;
	return complete(loop, future) < 0 ? NULL : Py_NewRef(Py_None);
}

static void see(PyObject *loop)
{
	seen.loop = loop;
	seen.thread = PyThread_get_thread_ident();
}

/*
 * As runs_here(), by what was seen: a loop that runs does so where it ran, or a task in its new thread
 * has asked since.
 */
static int runs_where_seen(PyObject *loop)
{
	PyObject *answer;
	int running;

	if (seen.loop != loop || seen.thread != PyThread_get_thread_ident())
		return 0;
	answer = PyObject_CallMethodObjArgs(loop, is_running_name, NULL);
	if (!answer)
		return -1;
	running = PyObject_IsTrue(answer);
	Py_DECREF(answer);
	return running;
}

static PyObject *new_future(PyObject *module, PyObject *loop)
{
	int here = runs_where_seen(loop);

	(void)module;
	if (!here) {
		here = runs_here(loop);
		if (here > 0)
			see(loop);
	}
	if (here == 0)
		PyErr_SetString(PyExc_RuntimeError, "this socket belongs to another event loop than "
						    "runs here: open one in each loop");
	if (here <= 0)
		return NULL;
	return PyObject_CallMethodObjArgs(loop, create_name, NULL);
}

static PyMethodDef functions[] = {
	{ "complete", complete_of, METH_VARARGS,
	  "complete(loop, future)\n--\n\n"
	  "Lets the task go on that awaits the future, if any does; from any thread." },
	{ "settle", settle, METH_O,
	  "settle(future)\n--\n\nThe same, in the loop's thread." },
	{ "new_future", new_future, METH_O,
	  "new_future(loop)\n--\n\n"
	  "What a task of this loop awaits; RuntimeError: another one runs, or none." },
	{ NULL, NULL, 0, NULL },
};

static int intern(PyObject **name, const char *text)
{
	*name = PyUnicode_InternFromString(text);
	return *name ? 0 : -1;
}

int future_add(PyObject *module)
{
	if (intern(&done_name, "done") < 0 || intern(&set_result_name, "set_result") < 0 ||
	    intern(&is_closed_name, "is_closed") < 0 ||
	    intern(&threadsafe_name, "call_soon_threadsafe") < 0 ||
	    intern(&create_name, "create_future") < 0 ||
	    intern(&is_running_name, "is_running") < 0 ||
	    PyModule_AddFunctions(module, functions) < 0)
		return -1;
	settle_function = PyObject_GetAttrString(module, "settle");
	return settle_function ? 0 : -1;
}
