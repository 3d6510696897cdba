/** What every document for people says first when no real GPU is behind it. */
export const SIMULATED = "SIMULATED SERVER: no real GPU is behind these numbers";
