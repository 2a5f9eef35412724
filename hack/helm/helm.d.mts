import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';

export const toolsFolder: string;
export function hasHelm(): boolean;
export function helm(args: string[]): Promise<string>;
export function kubectl(args: string[], options?: { editor?: string }): Promise<string>;
export function startTool(tool: string, args: string[]): ChildProcessByStdio<null, Readable, Readable>;
export function runTool(
  tool: string,
  args: string[],
  options?: { input?: string; env?: Readonly<Record<string, string>> },
): Promise<{ status: number; stdout: string; stderr: string }>;
