import { execFile } from 'node:child_process';

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** Variables of the program; it gets no others but PATH. */
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Milliseconds, default two minutes. */
  readonly timeoutMs?: number;
}

/** Runs a program to its end. A status other than 0 is a result; rejects if it does not start, or is killed as late. */
export function runCommand(
  file: string,
  args: readonly string[],
  { env = {}, folder, timeoutMs = 120_000 }: CommandOptions = {},
): Promise<CommandResult> {
  const { PATH = '' } = process.env;
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      { cwd: folder, env: { PATH, ...env }, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 << 20 },
      (error, stdout, stderr) => {
        if (error === null) resolve({ status: 0, stdout, stderr });
        else if (typeof error.code === 'number') resolve({ status: error.code, stdout, stderr });
        else reject(new Error(`${file} ${args.join(' ')}: ${error.message}\n${stderr}`, { cause: error }));
      },
    );
  });
}
