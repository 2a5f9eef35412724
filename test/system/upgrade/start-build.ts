import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerProcess, type ProgramOptions } from '../harness/process/server-process.ts';

const { PATH, HOME } = process.env;
export const environment = { PATH, HOME };

/** Whether this build knows an option. */
export function takes(build: string, option: string): boolean {
  return readFileSync(join(build, 'dist/cmd/svc/options/option-table.js'), 'utf8').includes(`'${option}'`);
}

export type BuildOptions = Required<Pick<ProgramOptions, 'build' | 'command' | 'args' | 'folder'>> & {
  /** Name of the log file. */
  readonly name: string;
};

/** A server of a build on free ports. */
export function startBuild({ build, command, args, ...options }: BuildOptions): ServerProcess {
  const all = [...args, ...unusedPorts(build, command, args)];
  return new ServerProcess({
    ...options,
    build,
    command,
    args: all,
    nodeArgs: ['--enable-source-maps'],
    env: environment,
  });
}

/** Several run at once: ports that were not given are free ones. */
function unusedPorts(build: string, command: string, args: readonly string[]): string[] {
  const wanted: Readonly<Record<string, readonly string[]>> = {
    serve: ['svc.server.port', 'svc.access.port', 'svc.server.tls.port', 'svc.access.tls.port'],
    apiserver: ['svc.server.port'],
    'access-server': ['svc.access.port'],
    'controller-manager': ['svc.controllers.port'],
  };
  return (wanted[command] ?? [])
    .filter((option) => takes(build, option) && !args.some((arg) => arg.startsWith(`--${option}=`)))
    .map((option) => `--${option}=0`);
}
