"""Processes that begin with numba, pandas and SciPy loaded: that is half of the time of a short run.

What a test sees is `python -c`: a process with output, an environment and an exit code of its own. It is forked from a process
that has loaded those libraries and no module of ours. Tests of what is loaded, of streams that break and of limits of memory
need a process that is new altogether. Elsewhere than on Linux, which has the sockets and forks safely, every process is new.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from types import SimpleNamespace

PATIENCE = 300.0  # seconds; the longest run takes ten

PARENT = """
import json, os, socket, sys
import numba, pandas, scipy.optimize, scipy.special

link = socket.socket(fileno=int(sys.argv[1]))
while True:
    message, streams, _, _ = socket.recv_fds(link, 2**17, 2)
    if not message:
        sys.exit()
    child = os.fork()
    if child == 0:
        break
    for stream in streams:
        os.close(stream)
    link.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

link.close()
for number, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
    os.dup2(stream, number)
    os.close(stream)
request = json.loads(message)
os.chdir(request["folder"])
os.environ.clear()
os.environ.update(request["environment"])
numba.core.config.reload_config()
sys.argv[:] = ["-c", *request["arguments"]]
exec(request["code"], {"__name__": "__main__"})
"""


@cache
def _parent():
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-c", PARENT, str(there.fileno())]
    process = subprocess.Popen(command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    there.close()
    here.settimeout(PATIENCE)

    @atexit.register
    def end():
        here.close()
        process.wait(10)

    return here


def run(code, *arguments, environment=None, folder=None):
    """`subprocess.run` of `python -c`: the exit code, and what was written."""
    if sys.platform != "linux":
        command = [sys.executable, "-c", code, *map(str, arguments)]
        variables = {**os.environ, **(environment or {})}
        return subprocess.run(command, capture_output=True, text=True, env=variables, cwd=folder, timeout=PATIENCE, check=False)
    request = {"code": code, "arguments": [*map(str, arguments)], "folder": str(folder or os.getcwd())}
    request["environment"] = {**os.environ, **(environment or {})}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        socket.send_fds(_parent(), [json.dumps(request).encode()], [out.fileno(), err.fileno()])
        answer = _parent().recv(100)
        assert answer, "the process to be forked has ended"
        out.seek(0)
        err.seek(0)
        return SimpleNamespace(returncode=int(answer), stdout=out.read(), stderr=err.read())
