#!/usr/bin/env python3
"""Starts one command twice, as a launcher starts two ranks on one machine, and waits for both.

    python3 tests/hardware/ranks.py COMMAND…

`{rank}` in a word of the command is the rank's number. Ends with the worst status of the two.
"""
import os, socket, subprocess, sys

RANKS = 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(command):
    port = free_port()
    ranks = [
        subprocess.Popen([word.replace("{rank}", str(rank)) for word in command], env={
            **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
            "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            "TORCHELASTIC_RUN_ID": f"two-gpus-{os.getpid()}",
        }) for rank in range(RANKS)
    ]
    sys.exit(max(abs(rank.wait()) for rank in ranks))


main(sys.argv[1:])
