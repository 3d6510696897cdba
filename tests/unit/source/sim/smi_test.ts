import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { gpuNodePath, readDescription } from "../../../../lib/source/sim/server.ts";
import { runSimSmi } from "../../../../lib/source/sim/smi.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
