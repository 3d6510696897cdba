import { known } from "../../core/reading.ts";
import type { GpuHealth } from "../../model/gpu_health.ts";
import { readBusId } from "./bus_id.ts";
import type { Nvml } from "./calls.ts";
import { createCell, readU32 } from "./cells.ts";
import { attempt, ImplausibleAnswer, NvmlError, STATUS } from "./status.ts";

/** NVML_NVLINK_MAX_LINKS of the newest nvml.h (610); older drivers refuse the higher numbers. */
const MOST_LINKS = 36;
/** nvmlIntNvLinkDeviceType_t, from 0: what is at the other end. */
const ENDS = ["gpu", "npu", "switch"] as const;

/** What a GPU is linked to by the NVLinks that are up. A GPU that has none is known to have no peers. */
export function readNvlinks(nvml: Nvml, device: bigint): Pick<GpuHealth, "nvlinkPeers" | "hasNvSwitch"> {
  const links = attempt(() =>
    listActiveLinks(nvml, device).map((link) => ({ link, end: readEnd(nvml, device, link) }))
  );
  if (!links.ok) return { nvlinkPeers: links, hasNvSwitch: links };
  const toGpus = links.value.filter(({ end }) => end === "gpu");
  return {
    nvlinkPeers: attempt(() => {
      const peers = toGpus.map(({ link }) =>
        readBusId(nvml, "nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link)
      );
      // Two GPUs are often joined by several links.
      return [...new Set(peers)];
    }),
    hasNvSwitch: known(links.value.some(({ end }) => end === "switch")),
  };
}

function readEnd(nvml: Nvml, device: bigint, link: number): typeof ENDS[number] {
  const value = readU32(nvml, "nvmlDeviceGetNvLinkRemoteDeviceType", device, link);
  const end = ENDS[value];
  if (end === undefined) {
    throw new ImplausibleAnswer(`the driver gives ${value} as what NVLink ${link} leads to`);
  }
  return end;
}

/** @throws {NvmlError} if the driver does not say of every link whether it is up */
function listActiveLinks(nvml: Nvml, device: bigint): readonly number[] {
  const links: number[] = [];
  for (let link = 0; link < MOST_LINKS; link++) {
    const { bytes, view } = createCell(4);
    const status = nvml.status("nvmlDeviceGetNvLinkState", device, link, bytes);
    // Numbers that no link of this GPU has are beyond the last; some in between may not be wired.
    if (status === STATUS.invalidArgument) break;
    if (status === STATUS.notSupported) continue;
    if (status !== STATUS.success) throw new NvmlError("nvmlDeviceGetNvLinkState", status);
    const state = view.getUint32(0, true);
    if (state > 1) throw new ImplausibleAnswer(`the driver gives ${state} as the state of NVLink ${link}`);
    if (state === 1) links.push(link);
  }
  return links;
}
