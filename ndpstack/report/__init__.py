"""What a run leaves behind: machine-readable results, flows as a table, an HTML report."""

from ndpstack.report._document import command_line as command_line
from ndpstack.report._document import document as document
from ndpstack.report._document import dumps as dumps
from ndpstack.report._files import write_results as write_results
