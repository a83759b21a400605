"""Runs the code cells of a Jupyter notebook on an ipykernel of its own, with the client of jupyter_client and
nothing else: what the kernel itself needs. Prints the last line of output, and then, as JSON, what the kernel's
process took from its start to its end, without this program."""
import json
import os
import resource
import sys
import time

from jupyter_client.manager import KernelManager


def main(path):
    with open(path, encoding="utf-8") as file:
        sources = [cell["source"] for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    printed = []

    def keep(message):
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    begin = time.perf_counter()
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(stderr=open(os.devnull, "w"))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready()
    for source in sources:  # returns when the reply has come and the kernel is idle
        reply = client.execute_interactive("".join(source), output_hook=keep, allow_stdin=False)
        if reply["content"]["status"] != "ok":
            sys.exit(f"a cell failed: {reply['content']}")
    client.stop_channels()
    manager.shutdown_kernel()
    wall = time.perf_counter() - begin
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("".join(printed).splitlines()[-1])
    print(json.dumps({"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024}))


main(sys.argv[1])
