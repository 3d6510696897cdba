#!/bin/sh
sleep 0.5; kill -STOP $PPID; /tmp/gx-brk/gpuctl sim hold --gpu 3 --for 2s >/dev/null; kill -CONT $PPID; sleep 0.3
