/**
 * What /proc says of everybody who has to do with a GPU, in two steps: who has a node open, which takes no driver and can
 * run while another process asks it, and then who the driver lists.
 */
import { readdirSync } from "node:fs";
import { isPid, type Pid } from "../core/ids.ts";
import { type Absent, absent, known, mapReading, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { DeviceUse, ProcessScan, ScanCoverage } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import { type DescriptorReader, openDescriptorReader } from "../native/descriptor_reader.ts";
import { bindKcmp, type CompareDescriptors } from "../native/kcmp.ts";
import type { Libc } from "../native/libc.ts";
import { bindPidfd } from "../native/pidfd.ts";
import type { Clock } from "../world/ports.ts";
import { type HeldNodes, scanDescriptors } from "./descriptors.ts";
import { type DeviceRecogniser, indexFiles, nodeKey } from "./devices.ts";
import { findHiding } from "./hidden.ts";
import type { NodeMappings } from "./maps.ts";
import { type ProcessCalls, readProcess } from "./process.ts";
import { readReader } from "./reader.ts";
import { findSharers } from "./sharing.ts";
import { hasSupervisor, listSupervisors } from "./supervisors.ts";
import { readUserNames } from "./users.ts";
