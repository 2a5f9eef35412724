export interface BuildInfo {
  version: string;
  /** 40 digits; '' if unknown. */
  commit: string;
}
export function buildInfo(root?: string, env?: Readonly<Record<string, string | undefined>>): BuildInfo;
export function writeBuildInfo(root?: string, env?: Readonly<Record<string, string | undefined>>): void;
