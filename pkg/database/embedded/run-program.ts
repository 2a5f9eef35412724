import { execFile } from 'node:child_process';
import { DatabaseError } from '../database-error.ts';

/** Otherwise PG* variables of the caller's shell would affect initdb and postgres. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LC_ALL: 'C',
};

/** The user and group a program runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const timeoutMs = 120_000;

/**
 * Runs a program to its end, under the account if one is given, and returns its output. Throws DatabaseError with the
 * last lines of its output.
 */
export function runProgram(file: string, args: readonly string[], account?: Account): Promise<string> {
  const options = {
    cwd: '/',
    env: programEnvironment,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    ...account,
  } as const;
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else reject(new DatabaseError(`${file} failed: ${lastLines(stderr) || error.message}`, { cause: error }));
    });
  });
}

export function lastLines(text: string, count = 5): string {
  return text.trim().split('\n').slice(-count).join('\n');
}
