"""Run by gdb: writes the names of a program's functions in the order in which they are first entered.

Every function gets a breakpoint of our own in its first byte, which is taken out when it is met: gdb's own would take
minutes for so many.
"""

import os
import subprocess

import gdb

BREAKPOINT = b"\xcc"

program = os.path.realpath(gdb.current_progspace().filename)
functions = {}
for line in subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines():
    fields = line.split()
    if len(fields) == 3 and fields[1] in "tTwW":
        functions.setdefault(int(fields[0], 16), fields[2])

for setting in ("pagination off", "confirm off", "print thread-events off", "print inferior-events off"):
    gdb.execute("set " + setting)
gdb.execute("starti", to_string=True)
inferior = gdb.selected_inferior()
with open(f"/proc/{inferior.pid}/maps") as maps:
    start = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))

first, last = min(functions), max(functions)
code = bytearray(inferior.read_memory(start + first, last - first + 1))
taken = {}
for offset in functions:
    taken[start + offset] = bytes([code[offset - first]])
    code[offset - first] = BREAKPOINT[0]
inferior.write_memory(start + first, bytes(code))

with open(os.environ["ORDER"], "w", buffering=1) as order:
    while inferior.pid:
        try:
            gdb.execute("continue", to_string=True)
            at = int(gdb.parse_and_eval("$pc")) - 1
        except gdb.error:
            break
        if at not in taken:
            break
        # Another thread may have met it in the same moment.
        if bytes(inferior.read_memory(at, 1)) == BREAKPOINT:
            inferior.write_memory(at, taken[at])
            order.write(functions[at - start] + "\n")
        gdb.execute(f"set $pc = {at}")
